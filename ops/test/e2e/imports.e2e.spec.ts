import { expect } from 'chai';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { request, type ClientRequest } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { messages } from '../../../schemas/http/errors.js';
import {
  conflictPolicies,
  importedRow,
  importFormats,
  importResponse,
} from '../../../schemas/http/imports.js';
import type { StatsResponse } from '../../../schemas/http/statistics.js';
import { nameOf } from '../support/feed-event.js';
import { folderFixture } from '../support/fixtures.js';
import { concurrently, sendRequest, statuses, type HttpResponse } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import { onStack, type IssuedKey } from '../support/product.js';
import { generousPlansFile } from '../support/plans.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { eventPages } from './events-harness.js';
import { expectBody, expectError, lacking, missingKey, productFixture } from './harness.js';
import { csvFile, importCalls, outcomesOf, rowsOf } from './imports-harness.js';

const maxBytes = 1_048_576;

const monthlyLinks = 3;

const header = 'code,url';
const url = 'https://example.com/imported';

/** A row of a CSV file with `header`. */
const row = (code: string, to = url): string => `${code},${to}`;

const manyRows = (prefix: string, count: number): string =>
  csvFile(header, ...Array.from({ length: count }, (_, index) => row(`${prefix}-${index}`)));

describe('command API: imports', () => {
  const dir = folderFixture();
  const bench = productFixture(async () => {
    const plansFile = await generousPlansFile(dir.path, { monthlyLinks });
    const blocklist = path.join(dir.path, 'blocklist.txt');
    await writeFile(blocklist, 'blocked.example\n');
    return {
      ...{ PLANS_FILE: plansFile, BLOCKLIST_FILE: blocklist, IMPORT_MAX_BYTES: String(maxBytes) },
      SHORT_URL_HOST: 'https://sho.rt',
    };
  });
  const imports = importCalls(bench);

  /** The statistics have the opening balance a moment after the link. */
  const expectCounted = (code: string, key: string, expected: object): Promise<void> =>
    eventuallyPasses(async () => {
      expect(await imports.details(code, key)).to.include(expected);
    });
  const { readAll } = eventPages(bench);
  let owner: IssuedKey;
  let key: string;
  let other: string;
  /** A file that is received during the other tests. */
  let slow: {
    readonly upload: ClientRequest;
    readonly response: Promise<unknown>;
    readonly startedAt: number;
    readonly timer: NodeJS.Timeout;
  };

  const switchFeatures = async (body: object): Promise<void> => {
    const response = await bench.admin('PATCH', '/admin/platform', body);
    expect(response.status, response.text).to.equal(200);
  };

  const addDomain = async (domain: string, account: string): Promise<void> => {
    const response = await bench.admin('POST', '/admin/domains', { domain, account });
    expect(response.status, response.text).to.equal(201);
  };

  /** Starts the upload of a file in portions. */
  const upload = (as: string, query = ''): ClientRequest => {
    const headers = { Authorization: `Bearer ${as}` };
    const method = 'POST';
    return request(`${bench.product.api}/v2/imports${query}`, { agent: false, method, headers });
  };

  const storedImports = (account: string): Promise<number> =>
    withLedger(bench.product, async (pool) => {
      const { rows } = await pool.query(
        `SELECT i.id FROM imports.imports i LEFT JOIN imports.portions p ON p.import = i.id
         WHERE i.account = $1`,
        [account],
      );
      return rows.length;
    });

  before(async () => {
    owner = await bench.key('PRO', { account: 'imports' });
    ({ key } = owner);
    ({ key: other } = await bench.key('PRO', { account: 'other-imports' }));
    const client = upload((await bench.key('PRO', { account: 'slow-imports' })).key);
    const response = once(client, 'response');
    client.write(`${header}\n`);
    let rows = 0;
    const timer = setInterval(() => {
      client.write(`${row(`slow-${rows}`)}\n`);
      rows += 1;
    }, 1_000);
    slow = { upload: client, response, startedAt: performance.now(), timer };
  });
  after(() => {
    clearInterval(slow.timer);
    slow.upload.destroy();
  });

  describe('a file', () => {
    it('is received with 202, and imported in the background', async () => {
      const file = csvFile(
        'code,url,title,tags',
        'first,https://example.com/1,"One, two",a|b',
        'second,https://example.com/2,,',
        'third,no-url,,',
      );
      const response = await imports.send(file, key, '', { 'Content-Type': 'text/csv' });
      expect(response.status, response.text).to.equal(202);
      expect(response.headers).to.include({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
      });
      const started = importResponse.strict().parse(response.json());
      const { id, startedAt } = started;
      expect(started).to.include({ format: 'csv', dryRun: false, visits: 0, error: null });
      const { ended, rows } = await imports.waitForEnd(id, key);
      expect(ended.endedAt).to.be.a('string');
      expect(ended).to.deep.equal({
        ...{ id, format: 'csv', status: 'done', dryRun: false, startedAt, endedAt: ended.endedAt },
        ...{ rows: 3, created: 2, existing: 0, failed: 1, visits: 0, error: null },
      });
      expect(rows).to.deep.equal([
        {
          ...{ row: 2, code: 'first', url: 'https://example.com/1' },
          ...{ outcome: 'created', message: null },
        },
        {
          ...{ row: 3, code: 'second', url: 'https://example.com/2' },
          ...{ outcome: 'created', message: null },
        },
        {
          ...{ row: 4, code: 'third', url: 'no-url', outcome: 'invalid' },
          message: 'The destination is not valid: it does not start with http:// or https://.',
        },
      ]);
      expect((await bench.visit('first')).headers.location).to.equal('https://example.com/1');
      expect(await imports.details('first', key)).to.deep.include({
        ...{ title: 'One, two', tags: ['a', 'b'], alias: 'first', status: 'active' },
      });
      const list = (await imports.call('', key, {})).json() as { imports: { id: string }[] };
      expect(list.imports[0]).to.deep.equal(ended);
      for (const at of ['', `/${id}`, `/${id}/rows`]) {
        const head = await imports.call(at, key, { method: 'HEAD' });
        expect([at, head.status, head.text]).to.deep.equal([at, 200, '']);
      }
    });

    it('is gzip by its header or its first bytes', async () => {
      const file = gzipSync(csvFile(header, row('zipped')));
      for (const headers of [
        { 'Content-Encoding': 'gzip' },
        { 'Content-Encoding': 'X-GZIP' },
        {},
      ]) {
        const { rows } = await imports.run(file, key, '?dryRun=1', headers);
        expect(outcomesOf({ rows })).to.deep.equal(['zipped created']);
      }
      const damaged = await imports.run(
        gzipSync(manyRows('zip', 5_000)).subarray(0, -10),
        key,
        '?dryRun=1',
      );
      expect(damaged.rows.at(-1)).to.include({
        ...{ outcome: 'invalid', message: 'The gzip file is incomplete or damaged.' },
      });
    });

    it('of another encoding gets 415', async () => {
      const file = brotliCompressSync(csvFile(header, row('brotli')));
      for (const encoding of ['br', 'deflate', 'gzip, br']) {
        const response = await imports.send(file, key, '', { 'Content-Encoding': encoding });
        const message = messages.importEncoding;
        expectError(response, { status: 415, message, path: '/v2/imports', method: 'POST' });
      }
    });

    it('has at most IMPORT_MAX_BYTES, with and without a Content-Length', async () => {
      const padded = (size: number): string => csvFile(header, row('large')).padEnd(size, '\n');
      const accepted = await imports.run(padded(maxBytes), key, '?dryRun=1');
      expect(outcomesOf(accepted)).to.deep.equal(['large created']);
      for (const headers of [{}, { 'Transfer-Encoding': 'chunked' }]) {
        const response = await imports.send(
          ...([padded(maxBytes + 1), key, '?dryRun=1'] as const),
          headers,
        );
        const message = messages.bodyTooLarge;
        expectError(response, { status: 413, message, path: '/v2/imports', method: 'POST' });
      }
    });

    it('has at most 20 times as much when decompressed', async () => {
      const lines = (count: number): Buffer =>
        gzipSync(csvFile(header, row('inflated')).padEnd(count, `${' '.repeat(50_000)}\n`));
      const accepted = await imports.run(lines(20 * maxBytes), key, '?dryRun=1');
      expect(outcomesOf(accepted)).to.deep.equal(['inflated created']);
      const { rows } = await imports.run(lines(20 * maxBytes + 1), key, '?dryRun=1');
      expect(rows.at(-1)).to.include({
        outcome: 'invalid',
        message: `The decompressed file is larger than ${20 * maxBytes} bytes.`,
      });
    });

    it('that cannot be read gets 400 with the reason, also if it is large', async () => {
      const large = 'x'.repeat(900_000);
      for (const [file, query, message] of [
        ['', '', 'The format of the file was not recognised'],
        [large, '', 'The format of the file was not recognised'],
        [large, '?format=linklog', 'it does not start with [ or {'],
        [large, '?format=shlink-csv', 'The file is no CSV of Shlink'],
        [large, '?format=yourls-sql', 'The file has no table of YOURLS'],
        ['', '?format=csv', 'The file is empty'],
        ['code,url,URL\na,b,c\n', '', 'The header has "URL" twice'],
      ] as const) {
        const response = await imports.send(file, key, query);
        expect([query, response.status]).to.deep.equal([query, 400]);
        expect(response.text).to.include(message.replaceAll('"', '\\"'));
      }
      expect((await imports.send('\0\0\0', key)).status).to.equal(400);
    });

    it('with malformed rows is imported otherwise', async () => {
      const { ended, rows } = await imports.run(
        csvFile(header, row('before'), '"open,https://example.com/', row('after'), 'a,b,c,d'),
        key,
      );
      expect(outcomesOf({ rows })).to.deep.equal([
        'before created',
        ' invalid',
        'after created',
        ' invalid',
      ]);
      expect(ended).to.include({ status: 'done', rows: 4, created: 2, failed: 2 });
    });
  });

  describe('requests', () => {
    const unknownId = '01970000-0000-7000-8000-000000000000';

    it('need the scope links:import', async () => {
      const { key: limited } = await bench.key('PRO', { scopes: ['links:write', 'links:read'] });
      for (const [method, at] of [
        ['POST', ''],
        ['GET', ''],
        ['GET', `/${unknownId}`],
        ['DELETE', `/${unknownId}`],
        ['GET', `/${unknownId}/rows`],
      ] as const) {
        const options = method === 'POST' ? { method, body: 'x' } : { method };
        expectBody(await imports.call(at, limited, options), 403, lacking('links:import'));
        const keyless = await bench.api(`/v2/imports${at}`, null, options);
        expectBody(keyless, 401, missingKey);
      }
      const { key: sufficient } = await bench.key('PRO', { scopes: ['links:import'] });
      expect((await imports.send(csvFile(header), sufficient, '?dryRun=1')).status).to.equal(202);
    });

    it('with an invalid parameter get 400 that names it', async () => {
      for (const [query, message] of [
        ['format=xml', `format must be auto, ${importFormats.join(', ')}`],
        ['format=shlink-api', `format must be auto, ${importFormats.join(', ')}`],
        ['onConflict=overwrite', `onConflict must be ${conflictPolicies.join(', ')}`],
        ['dryRun=yes', 'dryRun must be 1 or 0'],
        ['visits=2', 'visits must be 1 or 0'],
        ['linkZone=Berlin', 'linkZone must be an IANA time zone, such as Europe/Berlin'],
        ['visitZone=+01:00x', 'visitZone must be an IANA time zone, such as Europe/Berlin'],
        ['domain=http://x', 'domain must be a host, such as go.example.com'],
        ['domain=unknown.example', messages.domainInactive],
      ] as const) {
        const response = await imports.send(csvFile(header, row('never')), key, `?${query}`);
        expectError(response, { status: 400, message, path: '/v2/imports', method: 'POST' });
      }
      const { id } = await imports.start(csvFile(header), key);
      const response = await imports.call(`/${id}/rows?outcome=lost`, key, {});
      expect(response.status).to.equal(400);
      expect(response.text).to.include('outcome must be created, disabled');
    });

    it('for an unknown import or one of another account get 404', async () => {
      const { ended } = await imports.run(csvFile(header, row('mine')), key);
      for (const id of [ended.id, unknownId, 'x', ended.id.toUpperCase(), '%00']) {
        for (const [method, at] of [
          ['GET', `/${id}`],
          ['DELETE', `/${id}`],
          ['GET', `/${id}/rows`],
        ] as const) {
          const response = await imports.call(at, other, { method });
          const message = messages.importNotFound;
          expectError(response, { status: 404, message, path: `/v2/imports${at}`, method });
        }
      }
      expect((await imports.call('', other, {})).json()).to.deep.equal({ imports: [] });
      expect(await imports.show(ended.id, key)).to.deep.equal(ended);
    });

    it('list the imports of the account, the newest first', async () => {
      const { key: lister } = await bench.key('PRO', { account: 'list-imports' });
      const ids: string[] = [];
      for (let time = 0; time < 3; time += 1) {
        ids.unshift((await imports.start(csvFile(header), lister)).id);
      }
      const { imports: listed } = (await imports.call('', lister, {})).json() as {
        readonly imports: readonly { readonly id: string }[];
      };
      expect(listed.map(({ id }) => id)).to.deep.equal(ids);
    });

    it('for rows return JSON lines, also as text, and of one outcome with ?outcome=', async () => {
      const file = csvFile(header, row('row-a'), row('robots.txt'), row('row-a', `${url}/2`));
      const { ended, rows } = await imports.run(file, key);
      const response = await imports.call(`/${ended.id}/rows`, key, {});
      expect(response.headers['content-type']).to.equal('application/x-ndjson; charset=utf-8');
      expect(rowsOf(response)).to.deep.equal(rows);
      const text = await imports.call(`/${ended.id}/rows`, key, {
        headers: { Accept: 'text/plain' },
      });
      expect(text.headers['content-type']).to.equal('text/plain; charset=utf-8');
      expect(text.text).to.equal(response.text);
      for (const line of rows) importedRow.strict().parse(line);
      for (const outcome of ['created', 'invalid', 'conflict', 'quota'] as const) {
        expect(await imports.rows(ended.id, key, `?outcome=${outcome}`)).to.deep.equal(
          rows.filter((line) => line.outcome === outcome),
        );
      }
      expect(outcomesOf({ rows })).to.deep.equal([
        'row-a created',
        'robots.txt invalid',
        'row-a conflict',
      ]);
    });
  });

  describe('links', () => {
    it('spend one link of the month each, until the quota ends', async () => {
      const { key: free } = await bench.key('FREE', { account: 'free-imports' });
      await bench.link(free);
      const file = csvFile(
        header,
        ...['q1', 'bad code', 'q2', 'q3', 'q1', 'q4'].map((c) => row(c)),
      );
      const expected = [
        ...['q1 created', 'bad code invalid', 'q2 created', 'q3 quota', 'q1 exists', 'q4 quota'],
      ];
      const dry = await imports.run(file, free, '?dryRun=1');
      expect(outcomesOf(dry)).to.deep.equal(expected);
      expect((await bench.usage(free)).links).to.equal(1);
      const { ended, rows } = await imports.run(file, free);
      expect(rows).to.deep.equal(dry.rows);
      expect(ended).to.include({ status: 'done', created: 2, existing: 1, failed: 3 });
      expect(rows[3]?.message).to.equal('The links of the month are used up.');
      expect((await bench.usage(free)).links).to.equal(monthlyLinks);
    });

    it('are on the active domain that the request or the row names', async () => {
      await addDomain('imports.example.com', owner.account);
      await addDomain('foreign.example.com', 'another-account');
      const file = csvFile(
        'link,url',
        row('https://IMPORTS.example.com:8443/on-domain'),
        row('foreign.example.com/on-default'),
        row('plain'),
      );
      const { rows } = await imports.run(file, key);
      expect(rows.map(({ message }) => message)).to.deep.equal([
        null,
        'The link is on the default domain, because foreign.example.com is not a domain of the account.',
        null,
      ]);
      expect(await imports.details('on-domain', key, 'imports.example.com')).to.include({ url });
      expect(await imports.details('on-default', key)).to.include({ domain: null });
      const named = await imports.run(file, key, '?domain=imports.example.com');
      expect(outcomesOf(named)).to.deep.equal([
        'on-domain exists',
        'on-default created',
        'plain created',
      ]);
      const strict = await imports.run(
        JSON.stringify({ code: 'strict', url, domain: 'foreign.example.com' }),
        key,
      );
      expect(strict.rows[0]).to.include({ outcome: 'invalid' });
      expect(strict.rows[0]?.message).to.include('foreign.example.com is not active');
      const inactive = await imports.send(file, key, '?domain=foreign.example.com');
      expect([inactive.status, inactive.text]).to.satisfy(
        ([status, text]: [number, string]) =>
          status === 400 && text.includes(messages.domainInactive),
      );
    });

    it('of a taken code are skipped, get a suffix, or fail the import', async () => {
      await bench.link(other, { alias: 'taken' });
      await bench.link(key, { alias: 'taken-2' });
      await bench.link(key, { alias: 'removed-code' });
      await bench.api('/v2/links/removed-code', key, { method: 'DELETE' });
      const file = csvFile(header, row('taken'), row('free-code'), row('removed-code'));
      const skipped = await imports.run(file, key, '?onConflict=skip&dryRun=1');
      expect(outcomesOf(skipped)).to.deep.equal([
        ...['taken conflict', 'free-code created', 'removed-code conflict'],
      ]);
      expect(skipped.rows.map(({ message }) => message)).to.deep.equal([
        ...['The code belongs to another link.', null, 'The code belongs to a deleted link.'],
      ]);
      const failed = await imports.run(file, key, '?onConflict=fail');
      expect(failed.ended).to.include({
        ...{ status: 'failed', created: 0, failed: 2 },
        error: '2 rows conflict with existing links. No link was created.',
      });
      expect(outcomesOf(failed)).to.deep.equal(['taken conflict', 'removed-code conflict']);
      expect((await bench.api('/v2/links/free-code', key)).status).to.equal(404);
      for (const query of ['?onConflict=suffix&dryRun=1', '?onConflict=suffix']) {
        const { rows } = await imports.run(file, key, query);
        expect(outcomesOf({ rows }), query).to.deep.equal([
          ...['taken-3 created', 'free-code created', 'removed-code-2 created'],
        ]);
        expect(rows[0]?.message).to.equal('The code taken was taken.');
      }
      const again = await imports.run(file, key, '?onConflict=suffix');
      expect(outcomesOf(again)).to.deep.equal([
        ...['taken-3 exists', 'free-code exists', 'removed-code-2 exists'],
      ]);
      const fine = await imports.run(csvFile(header, row('fine')), key, '?onConflict=fail');
      expect(fine.ended).to.include({ status: 'done', created: 1 });
    });

    it('get a suffix that neither another row nor another link has', async () => {
      await bench.link(other, { alias: 'chain' });
      await bench.link(other, { alias: 'chain-2-2' });
      const file = csvFile(header, row('chain', `${url}/1`), row('chain-2', `${url}/2`));
      const dry = await imports.run(file, key, '?onConflict=suffix&dryRun=1');
      expect(outcomesOf(dry)).to.deep.equal(['chain-2 created', 'chain-2-3 created']);
      expect((await imports.run(file, key, '?onConflict=suffix')).rows).to.deep.equal(dry.rows);
    });

    it('are not created by a dry run, whose outcomes a later run repeats', async () => {
      const { key: dryKey } = await bench.key('PRO', { account: 'dry-imports' });
      const file = csvFile(
        'code,url,disabled',
        ...[
          'dry,https://example.com/1,',
          'off,https://example.com/2,1',
          'dry,https://other.test/,',
        ],
        ...[
          'dry,https://example.com/1,',
          'login,https://example.com/3,',
          '/,https://example.com/,',
        ],
      );
      const dry = await imports.run(file, dryKey, '?dryRun=true');
      expect(dry.ended).to.include({ dryRun: true, status: 'done', created: 2, existing: 1 });
      expect((await bench.api('/v2/links/dry', dryKey)).status).to.equal(404);
      expect((await bench.usage(dryKey)).links).to.equal(0);
      const { ended, rows } = await imports.run(file, dryKey);
      expect(rows).to.deep.equal(dry.rows);
      const { id, startedAt, endedAt } = ended;
      expect({ ...dry.ended, id, startedAt, endedAt, dryRun: false }).to.deep.equal(ended);
    });

    it('are created once, however often the file is sent', async () => {
      const file = manyRows('repeated', 1_200);
      const first = await imports.run(file, key);
      expect(first.ended).to.include({ rows: 1_200, created: 1_200 });
      const again = await imports.run(file, key);
      expect(again.ended).to.include({ rows: 1_200, created: 0, existing: 1_200, failed: 0 });
      const [firstRun, secondRun] = await concurrently(2, () =>
        imports.run(manyRows('raced', 800), key),
      );
      expect((firstRun?.ended.created ?? 0) + (secondRun?.ended.created ?? 0)).to.equal(800);
      expect((firstRun?.ended.existing ?? 0) + (secondRun?.ended.existing ?? 0)).to.equal(800);
    });

    it('have codes of 1 to 190 characters in NFC, percent-decoded, and never another one', async () => {
      const long = 'x'.repeat(190);
      const valid = ['7', 'ä', 'cafe\u0301', '🎉', 'a.b~c', long];
      const invalid = [
        ...[`${long}x`, 'a+b', 'end+', 'a b', '..', '.', 'favicon.ico', 'health', 'robots.txt'],
        ...['a\u200bb', 'docs/install', 'a%25b', 'a\u202eb', 'a\u00a0b'],
      ];
      const file = csvFile(header, ...[...valid, ...invalid, '%C3%B6l'].map((code) => row(code)));
      const { rows } = await imports.run(file, key);
      const created = rows.filter(({ outcome }) => outcome === 'created');
      const refused = rows.filter(({ outcome }) => outcome !== 'created');
      expect(created.map(({ code }) => code)).to.deep.equal([
        ...['7', 'ä', 'café', '🎉', 'a.b~c', long, 'öl'],
      ]);
      expect(refused.map(({ code }) => code)).to.deep.equal(
        invalid.map((code) => (code === 'a%25b' ? 'a%b' : code)),
      );
      for (const line of refused) {
        expect(line).to.include({ outcome: 'invalid', message: 'No link can have this code.' });
      }
      for (const code of ['caf%C3%A9', 'cafe%CC%81', '%F0%9F%8E%89', 'a.b~c', long]) {
        const visited = await bench.visit(code, { headers: { Host: 'sho.rt' } });
        expect(visited.headers.location, code).to.equal(url);
      }
    });

    it('have reserved codes only if an operator imports them', async () => {
      const file = csvFile(header, row('login'), row('v9'));
      const client = await imports.run(file, key);
      expect(outcomesOf(client)).to.deep.equal(['login reserved', 'v9 reserved']);
      expect(client.rows[0]?.message).to.equal('The code is reserved.');
      const operator = await imports.run(file, null, `?account=${owner.account}`);
      expect(outcomesOf(operator)).to.deep.equal(['login created', 'v9 created']);
      await bench.admin('PUT', '/admin/reserved-aliases/pricing/override', {
        account: owner.account,
      });
      const allowed = await imports.run(csvFile(header, row('pricing')), key);
      expect(outcomesOf(allowed)).to.deep.equal(['pricing created']);
    });

    it('have valid and safe destinations', async () => {
      const file = csvFile(
        header,
        ...[row('s1', 'https://www.blocked.example/x'), row('s2', 'https://sho.rt/loop')],
        ...[row('s3', 'http://a@b.example/'), row('s4', 'http://a\\b/'), row('s5', 'ftp://a.b/')],
        ...[row('s6', `https://example.com/${'x'.repeat(2_100)}`), row('s7', 'https://ok.test/')],
      );
      const { ended, rows } = await imports.run(file, key);
      expect(outcomesOf({ rows })).to.deep.equal([
        ...['s1 unsafe', 's2 invalid', 's3 invalid', 's4 invalid', 's5 invalid', 's6 invalid'],
        's7 created',
      ]);
      expect(ended).to.include({ rows: 7, created: 1, failed: 6 });
      expect(rows.map(({ message }) => message)).to.deep.equal([
        'The destination is not safe.',
        'The destination is not valid: it leads to this service.',
        'The destination is not valid: it has a user name or an @ before its path.',
        'The destination is not valid: it has a backslash before its query.',
        'The destination is not valid: it does not start with http:// or https://.',
        'The destination is not valid: it has more than 2,048 characters.',
        null,
      ]);
    });

    it('have titles, notes and tags, adapted with a message', async () => {
      const tags = Array.from({ length: 22 }, (_, index) => `t${index}`).join();
      const file = csvFile(
        'code,url,title,note,tags',
        `text,${url},"Zwei\nZeilen","a\nb\u0007c","${tags}"`,
        `long,${url},${'ä'.repeat(201)},${'n'.repeat(2_001)},${'g'.repeat(51)}`,
      );
      const { rows } = await imports.run(file, key);
      expect(rows.map(({ row: line }) => line)).to.deep.equal([2, 5]);
      expect(rows[0]?.message).to.equal('Only the first 20 tags were imported.');
      expect(rows[1]?.message).to.equal(
        'The title was cut to 200 characters. The note was cut to 2,000 characters. The tag was cut to 50 characters.',
      );
      expect(await imports.details('text', key)).to.deep.include({
        ...{ title: 'Zwei Zeilen', note: 'a\nb c', tags: tags.split(',').slice(0, 20) },
      });
      expect(await imports.details('long', key)).to.deep.include({
        ...{ title: 'ä'.repeat(200), note: 'n'.repeat(2_000), tags: ['g'.repeat(50)] },
      });
    });

    it('have times in UTC, in the zone of the request, or with an offset', async () => {
      const file = (prefix: string): string =>
        csvFile(
          'code,url,createdAt,expiresAt',
          `${prefix}-1,${url},2024-07-01 12:00:00,2099-01-01 00:00`,
          `${prefix}-2,${url},2024-07-01T12:00:00+05:30,`,
          `${prefix}-3,${url},03/04/2025,`,
        );
      for (const [zone, created, expires] of [
        ['', '2024-07-01T12:00:00.000Z', '2099-01-01T00:00:00.000Z'],
        ['?linkZone=Europe/Berlin', '2024-07-01T10:00:00.000Z', '2098-12-31T23:00:00.000Z'],
      ] as const) {
        const prefix = zone === '' ? 'utc' : 'berlin';
        const { rows } = await imports.run(file(prefix), key, zone);
        expect(await imports.details(`${prefix}-1`, key)).to.include({
          ...{ createdAt: created, expiresAt: expires, status: 'active' },
        });
        const { createdAt } = await imports.details(`${prefix}-2`, key);
        expect(createdAt).to.equal('2024-07-01T06:30:00.000Z');
        expect(rows[2]?.message).to.equal(
          'The creation time "03/04/2025" cannot be read and was left out.',
        );
      }
    });

    it('have their state, end, limit and clicks', async () => {
      const file = csvFile(
        'code,url,clicks,maxClicks,expiresAt,disabled,archived',
        ...[`c-open,${url},7,10,,,`, `c-used,${url},10,10,,,`, `c-over,${url},1,,2020-01-01,,`],
        ...[`c-off,${url},3,,,true,`, `c-archived,${url},0,0,,,yes`],
      );
      const { rows } = await imports.run(file, key);
      expect(outcomesOf({ rows })).to.deep.equal([
        ...['c-open created', 'c-used created', 'c-over created', 'c-off disabled'],
        'c-archived created',
      ]);
      const limits = { clickCount: 7, maxClicks: 10, clicksLeft: 3, status: 'active' };
      await expectCounted('c-open', key, limits);
      const used = { clickCount: 10, clicksLeft: 0, status: 'expired' };
      await expectCounted('c-used', key, used);
      expect(await imports.details('c-over', key)).to.include({ status: 'expired' });
      await expectCounted('c-off', key, { status: 'disabled', clickCount: 3 });
      expect(await imports.details('c-archived', key)).to.deep.include({
        ...{ status: 'active', tags: ['archived'], maxClicks: null },
      });
      expect((await bench.visit('c-used')).status).to.equal(410);
      for (const [visits, status] of [
        [3, 302],
        [1, 410],
      ] as const) {
        for (let time = 0; time < visits; time += 1) {
          expect((await bench.visit('c-open')).status).to.equal(status);
        }
      }
      await bench.expectClicks('c-open', key, 10);
      await eventuallyPasses(async () => {
        const response = await bench.api('/v2/stats/c-open?include=countries', key);
        expect(response.json()).to.include({ clickCount: 10, importedClicks: 7 });
        expect((response.json() as StatsResponse).period).to.include({ clickCount: 3 });
      });
    });

    it('with a password are disabled, because the password is unknown', async () => {
      const [line] = [{ code: 'secret', url, hasPassword: true, clicks: 2, title: 'Kept' }];
      const { rows } = await imports.run(JSON.stringify(line), key, '?format=linklog');
      expect(rows[0]).to.include({
        ...{
          outcome: 'disabled',
          message: 'The link is disabled, because its password is unknown.',
        },
      });
      expect((await bench.visit('secret')).status).to.not.equal(302);
      await expectCounted('secret', key, {
        ...{ status: 'disabled', hasPassword: false, title: 'Kept', clickCount: 2 },
      });
    });

    it('are in the feed as LinkImported, with the key as actor', async () => {
      const { id } = owner;
      const createdAt = '2020-02-03T04:05:06.000Z';
      const file = csvFile('code,url,createdAt,clicks', `in-feed,${url},${createdAt},4`);
      const { ended } = await imports.run(file, key);
      await eventuallyPasses(async () => {
        const [event, ...more] = await readAll(key, 'shortCode=in-feed');
        expect(more).to.deep.equal([]);
        expect(event).to.deep.include({ actor: id, account: owner.account, subject: 'in-feed' });
        expect(event && nameOf(event)).to.equal('LinkImported');
        expect(event?.data).to.deep.include({
          ...{ url, createdAt, clicks: 4, visits: 0, source: 'csv', importId: ended.id },
        });
        expect(Date.parse(event?.time ?? '')).to.be.at.least(Date.parse(ended.startedAt));
      }, 30_000);
    });
  });

  describe('visits', () => {
    const dump = [
      "INSERT INTO `yourls_log` VALUES (1,'2023-05-02 23:30:00','visited','direct','Mozilla/5.0 " +
        "(X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/112.0','203.0.113.7','DE')," +
        "(2,'2023-05-02 23:30:00','visited','https://news.example/?q=a','Googlebot/2.1','2001:db8::1'," +
        "''),(3,'2023-05-03 00:00:00','gone','direct','x','198.51.100.9','US');",
      "INSERT INTO `yourls_url` VALUES ('visited','https://example.org/','T'," +
        "'2023-05-01 08:00:00','203.0.113.7',17),('unvisited','https://example.org/2',''," +
        "'2023-05-01 08:00:00','203.0.113.7',2);",
    ].join('\n');

    it('of YOURLS are imported with visits=1, once, and replace clicks', async () => {
      const query = '?visits=1&visitZone=Europe/Berlin';
      const dry = await imports.run(dump, key, `${query}&dryRun=1`);
      expect(dry.ended).to.include({ visits: 0, created: 2, rows: 2 });
      const { ended } = await imports.run(dump, key, query);
      expect(ended).to.include({ status: 'done', format: 'yourls-sql', visits: 2, created: 2 });
      const read = async (): Promise<StatsResponse> => {
        const range = 'from=2023-05-01&to=2023-05-04&include=all';
        const response = await bench.api(`/v2/stats/visited?${range}`, key);
        expect(response.status, response.text).to.equal(200);
        return response.json() as StatsResponse;
      };
      const check = (stats: StatsResponse): void => {
        expect(stats).to.deep.include({ importedClicks: 15 });
        // The source has counted the visit of a bot.
        expect(stats).to.include({ clickCount: 17, bots: 0 });
        expect(stats.period).to.include({ clickCount: 2 });
        expect(stats.countries).to.have.deep.members([
          { value: 'DE', clicks: 1 },
          { value: null, clicks: 1 },
        ]);
        expect(stats.browsers).to.have.deep.members([
          { value: 'Firefox', clicks: 1 },
          { value: null, clicks: 1 },
        ]);
        const days = stats.timeseries?.filter(({ clicks }) => clicks > 0);
        expect(days?.map(({ start }) => start.slice(0, 10))).to.deep.equal(['2023-05-02']);
      };
      await eventuallyPasses(async () => {
        check(await read());
      }, 30_000);
      const again = await imports.run(dump, key, query);
      expect(again.ended).to.include({ visits: 0, created: 0, existing: 2 });
      check(await read());
      const visits = await readAll(key, 'shortCode=visited&types=LinkVisited');
      expect(visits).to.have.length(2);
      for (const { data } of visits) expect(data).to.include({ visitor: null });
      expect(JSON.stringify(visits)).to.not.match(/203\.0\.113|2001:db8/);
    });
  });

  describe('a running import', () => {
    it('is stopped by DELETE; its links stay', async () => {
      const count = 20_000;
      const { id } = await imports.start(manyRows('stopped', count), key);
      await eventually('links are created', async () => (await imports.show(id, key)).created > 0);
      expect((await imports.stop(id, key)).status).to.equal(204);
      const { ended, rows } = await imports.waitForEnd(id, key);
      expect(ended).to.include({ status: 'stopped', error: null });
      expect(ended.created).to.be.within(1, count - 1);
      expect(rows).to.have.length(ended.created);
      expect((await bench.visit('stopped-0')).status).to.equal(302);
      expect((await bench.api(`/v2/links/stopped-${ended.created}`, key)).status).to.equal(404);
      expect((await imports.stop(id, key)).status).to.equal(204);
      expect(await imports.show(id, key)).to.deep.equal(ended);
    });

    it('is stopped when its key is revoked', async () => {
      const count = 20_000;
      const revoked = await bench.key('PRO', { account: owner.account });
      const { id } = await imports.start(manyRows('revoked', count), revoked.key);
      await eventually('links are created', async () => (await imports.show(id, key)).created > 0);
      expect((await bench.admin('DELETE', `/admin/keys/${revoked.id}`)).status).to.be.within(
        200,
        204,
      );
      const { ended } = await imports.waitForEnd(id, key);
      expect(ended).to.include({
        ...{ status: 'stopped', error: 'The key that started the import is no longer active.' },
      });
      expect(ended.created).to.be.within(1, count - 1);
    });

    it('waits while shortening is off or in maintenance; an account has at most ten', async () => {
      const account = 'waiting-imports';
      const { key: waiting } = await bench.key('PRO', { account });
      const file = (index: number): string => csvFile(header, row(`waiting-${index}`));
      await switchFeatures({ features: { shortening: false } });
      try {
        const refused = await imports.send(file(0), waiting);
        expect([refused.status, refused.text]).to.satisfy(
          ([status, text]: [number, string]) =>
            status === 400 && text.includes(messages.shorteningOff),
        );
        const ids: string[] = [];
        for (let index = 0; index < 10; index += 1) {
          ids.push((await imports.start(file(index), null, `?account=${account}`)).id);
        }
        for (const [as, query] of [[null, `?account=${account}`]] as const) {
          const response = await imports.send(file(10), as, query);
          expect(response.status).to.equal(503);
          expect(response.headers['retry-after']).to.equal('10');
          expect(response.text).to.include(messages.tooManyImports);
        }
        await switchFeatures({ maintenance: true, features: { shortening: true } });
        const [first = ''] = ids;
        expect(await imports.show(first, null)).to.include({ status: 'running', rows: 0 });
        await switchFeatures({ maintenance: false });
        for (const id of ids) {
          expect((await imports.waitForEnd(id, waiting)).ended).to.include({ created: 1 });
        }
      } finally {
        await switchFeatures({ maintenance: false, features: { shortening: true } });
      }
    });
  });

  describe('an upload', () => {
    it('that the client aborts leaves nothing', async () => {
      const account = 'aborted-imports';
      const { key: aborting } = await bench.key('PRO', { account });
      const client = upload(aborting);
      client.on('error', (error: NodeJS.ErrnoException) => {
        expect(error.code).to.equal('ECONNRESET');
      });
      client.write(manyRows('aborted', 5_000));
      await eventually('records are stored', async () => (await storedImports(account)) > 0);
      expect((await imports.call('', aborting, {})).json()).to.deep.equal({ imports: [] });
      client.destroy();
      await eventually('the import is deleted', async () => (await storedImports(account)) === 0);
      expect((await bench.api('/v2/links/aborted-0', aborting)).status).to.equal(404);
    });

    it('gets 503 while the process receives eight others, also concurrently', async () => {
      const keys = await concurrently(16, (index) => bench.key('PRO', { account: `up-${index}` }));
      const uploads = keys.map(({ key: uploading }) => upload(uploading));
      const received: number[] = [];
      const responses = uploads.map(async (client) => {
        const [response] = (await once(client, 'response')) as [
          { statusCode: number; resume: () => void },
        ];
        response.resume();
        received.push(response.statusCode);
        return response.statusCode;
      });
      for (const client of uploads) client.write(`${header}\n`);
      // One of the eight is the slow upload.
      await eventually('nine uploads get 503', () => received.length === 9);
      expect(received).to.deep.equal(Array.from({ length: 9 }, () => 503));
      for (const client of uploads) client.end(row('uploaded'));
      const ended = await Promise.all(responses);
      expect(ended.filter((status) => status === 202)).to.have.length(7);
    });

    it('may take longer than other requests', async function () {
      this.timeout(120_000);
      // The limit of other requests is 30 s, and is checked every 5 s.
      await sleep(Math.max(0, slow.startedAt + 36_000 - performance.now()));
      clearInterval(slow.timer);
      slow.upload.end(`${row('slow-end')}\n`);
      const [response] = (await slow.response) as [{ readonly statusCode: number }];
      expect(response.statusCode).to.equal(202);
      await eventuallyPasses(async () => {
        expect((await bench.visit('slow-end')).status).to.equal(302);
      }, 30_000);
    });
  });

  describe('by operators', () => {
    it('have no quota and no size limit, and are of the account', async () => {
      const account = 'operated';
      const { key: free } = await bench.key('FREE', { account });
      const file = manyRows('operated', 30_000);
      expect(file.length).to.be.above(maxBytes);
      const { id } = await imports.start(file, null, `?account=${account}`, { 'X-Actor': 'maria' });
      expect((await imports.call('', free, {})).text).to.include(id);
      await eventually('rows are decided', async () => (await imports.show(id, free)).rows >= 500);
      expect((await imports.stop(id, null)).status).to.equal(204);
      const { ended } = await imports.waitForEnd(id, null);
      expect(ended.created).to.be.at.least(500);
      expect((await bench.usage(free)).links).to.equal(0);
      await eventuallyPasses(async () => {
        const [event] = await readAll(free, 'shortCode=operated-0');
        expect(event).to.include({ actor: 'operator' });
      }, 30_000);
    });

    it('are listed for all accounts or one', async () => {
      const { id } = await imports.start(csvFile(header), null, '?account=listed');
      const listed = async (query: string): Promise<readonly string[]> => {
        const response = await imports.call(query, null, {});
        expect(response.status, response.text).to.equal(200);
        const { imports: found } = response.json() as { readonly imports: { id: string }[] };
        return found.map(({ id: listedId }) => listedId);
      };
      expect(await listed('?account=listed')).to.deep.equal([id]);
      expect((await listed(''))[0]).to.equal(id);
      expect(await listed('?account=without-imports')).to.deep.equal([]);
      expect((await imports.call('/unknown', null, {})).status).to.equal(404);
      const token = { headers: { Authorization: `Bearer ${key}` } };
      const response = await sendRequest(`${bench.product.admin}/admin/imports`, token);
      expect(response.status).to.equal(401);
    });
  });

  it('are shared by the nodes of a stack', async function () {
    const { apis } = bench.product;
    expect(apis.length).to.equal(onStack ? 2 : 1);
    const { id } = await imports.start(manyRows('nodes', 2_000), key);
    const { ended, rows } = await imports.waitForEnd(id, key);
    expect(ended).to.include({ created: 2_000 });
    expect(new Set(rows.map(({ code }) => code)).size).to.equal(2_000);
    const found: HttpResponse[] = await Promise.all(
      apis.map((api) =>
        sendRequest(`${api}/v2/imports/${id}`, { headers: { Authorization: `Bearer ${key}` } }),
      ),
    );
    expect(statuses(found)).to.deep.equal({ 200: apis.length });
  });
});
