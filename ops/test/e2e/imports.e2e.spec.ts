import { expect } from 'chai';
import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { encodings } from '../../../schemas/encodings.js';
import { messages } from '../../../schemas/http/errors.js';
import type { IssuedKey } from '../support/product.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { eventPages } from './events-harness.js';
import { expectError, sharedProduct } from './harness.js';
import { csvFile, importCalls, manyRows, outcomesOf, row, rowsOf } from './imports-harness.js';

const header = 'code,url';
const url = 'https://example.com/imported';

describe('/v2/imports', () => {
  const bench = sharedProduct();
  const imports = importCalls(bench);
  const { readAll } = eventPages(bench);
  let owner: IssuedKey;
  let key: string;
  let other: string;

  const switchFeatures = async (body: object): Promise<void> => {
    const response = await bench.admin('PATCH', '/admin/platform', body);
    expect(response.status, response.text).to.equal(200);
  };

  /** Starts the upload of a file in portions. */
  const upload = (as: string): ClientRequest => {
    const headers = { Authorization: `Bearer ${as}` };
    const options = { agent: false, method: 'POST', headers };
    return request(`${bench.product.api}/v2/imports`, options);
  };

  before(async () => {
    owner = await bench.key('PRO', { account: 'imports' });
    ({ key } = owner);
    ({ key: other } = await bench.key('PRO', { account: 'imports-other' }));
  });

  it('receives a file with 202, and imports it in the background', async () => {
    const file = csvFile(
      'code,url,title,tags,Owner',
      'imported-1,https://example.com/1,"One, two",a|b,me',
      'imported-2,no-url,,,',
    );
    const started = await imports.start(file, key, '', { 'Content-Type': 'text/csv' });
    const { id, startedAt } = started;
    expect(started).to.include({ format: 'csv', dryRun: false, visits: 0, error: null });
    const { ended, rows } = await imports.waitForEnd(id, key);
    expect(ended.endedAt).to.be.a('string');
    expect(ended).to.deep.equal({
      ...{ id, format: 'csv', status: 'done', dryRun: false, startedAt, endedAt: ended.endedAt },
      ...{ rows: 2, created: 1, existing: 0, failed: 1, visits: 0, error: null },
      ignoredColumns: ['Owner'],
    });
    const first = { row: 2, code: 'imported-1', url: 'https://example.com/1' };
    const message = 'The destination is not valid: it does not start with http:// or https://.';
    expect(rows).to.deep.equal([
      { ...first, outcome: 'created', message: null },
      { row: 3, code: 'imported-2', url: 'no-url', outcome: 'invalid', message },
    ]);
    expect((await bench.visit('imported-1')).headers.location).to.equal(first.url);
    expect(await imports.details('imported-1', key)).to.deep.include({
      ...{ title: 'One, two', tags: ['a', 'b'], alias: 'imported-1', status: 'active' },
    });
    const second = await imports.start(csvFile(header), key);
    const list = (await imports.call('', key, {})).json() as { imports: { id: string }[] };
    expect(list.imports.map((listed) => listed.id)).to.deep.equal([second.id, id]);
  });

  it('reads gzip by its header or its first bytes, and no other encoding', async () => {
    const file = gzipSync(csvFile(header, row('zipped')));
    for (const headers of [{ 'Content-Encoding': 'X-GZIP' }, {}]) {
      const { rows } = await imports.run(file, key, '?dryRun=1', headers);
      expect(outcomesOf({ rows })).to.deep.equal(['zipped created']);
    }
    const br = { 'Content-Encoding': 'br' };
    const response = await imports.send(brotliCompressSync('x'), key, '', br);
    const message = messages.importEncoding;
    expectError(response, { status: 415, message, path: '/v2/imports', method: 'POST' });
  });

  it('rejects a file that it cannot read with 400 and the reason, also if it is large', async () => {
    const large = 'x'.repeat(900_000);
    for (const [file, query, message] of [
      [large, '', 'The format of the file was not recognised'],
      [large, '?format=yourls-sql', 'The file has no table of YOURLS'],
      ['code,url,URL\na,b,c\n', '', 'The header has \\"URL\\" twice'],
    ] as const) {
      const response = await imports.send(file, key, query);
      expect([query, response.status]).to.deep.equal([query, 400]);
      expect(response.text).to.include(message);
    }
  });

  it('reads the encoding of the parameter', async () => {
    const file = Buffer.from(
      'code,url,title\nsjis,https://example.com/,\x95\x5c\x83\x65\n',
      'latin1',
    );
    const { rows } = await imports.run(file, key, '?encoding=shift_jis');
    expect(outcomesOf({ rows })).to.deep.equal(['sjis created']);
    expect(await imports.details('sjis', key)).to.include({ title: '表テ' });
  });

  it('needs valid parameters', async () => {
    for (const [query, message] of [
      ['dryRun=yes', 'dryRun must be 1 or 0'],
      ['encoding=utf-7', `encoding must be one of ${encodings.join(', ')}`],
      ['domain=unknown.example', messages.domainInactive],
    ] as const) {
      const response = await imports.send(csvFile(header, row('never')), key, `?${query}`);
      expectError(response, { status: 400, message, path: '/v2/imports', method: 'POST' });
    }
  });

  it('is 404 for an unknown import or one of another account', async () => {
    const { id } = await imports.start(csvFile(header), key);
    for (const [method, at] of [
      ...[['GET', `/${id}`] as const, ['DELETE', `/${id}`] as const],
      ['GET', `/${id}/rows`] as const,
    ]) {
      const path = `/v2/imports${at}`;
      const response = await imports.call(at, other, { method });
      expectError(response, { status: 404, message: messages.importNotFound, path, method });
    }
    expect((await imports.call('', other, {})).json()).to.deep.equal({ imports: [] });
  });

  it('returns rows as JSON lines, also as text, and of one outcome', async () => {
    const file = csvFile(
      header,
      row('imported-row'),
      row('robots.txt'),
      row('imported-row', `${url}/2`),
    );
    const { ended, rows } = await imports.run(file, key);
    expect(outcomesOf({ rows })).to.deep.equal([
      ...['imported-row created', 'robots.txt invalid', 'imported-row conflict'],
    ]);
    const ask = (query = '', headers = {}) =>
      imports.call(`/${ended.id}/rows${query}`, key, { headers });
    const response = await ask();
    expect(response.headers['content-type']).to.equal('application/x-ndjson; charset=utf-8');
    for (const outcome of ['created', 'quota']) {
      expect(rowsOf(await ask(`?outcome=${outcome}`))).to.deep.equal(
        rows.filter((line) => line.outcome === outcome),
      );
    }
    expect((await ask('?outcome=lost')).text).to.include('outcome must be created, disabled');
  });

  it('stops an import on DELETE, whose links stay; those of operators have no quota', async () => {
    const account = 'imports-operated';
    const { key: own } = await bench.key('PRO', { account });
    const count = 20_000;
    const query = `?account=${account}`;
    const { id } = await imports.start(manyRows('operated', count), null, query);
    await eventually('links are created', async () => (await imports.show(id, own)).created > 0);
    expect(await imports.stop(id, own)).to.equal(204);
    const { ended, rows } = await imports.waitForEnd(id, null);
    expect(ended).to.include({ status: 'stopped', error: null });
    expect(ended.created).to.be.within(1, count - 1);
    expect(rows).to.have.length(ended.created);
    expect((await bench.usage(own)).links).to.equal(0);
    expect((await bench.visit('operated-0')).status).to.equal(302);
    expect((await bench.api(`/v2/links/operated-${ended.created}`, own)).status).to.equal(404);
    await eventuallyPasses(async () => {
      const [event] = await readAll(own, 'shortCode=operated-0');
      expect(event).to.include({ actor: 'operator' });
    });
    const listed = (await imports.call(query, null, {})).json() as { imports: { id: string }[] };
    expect(listed.imports.map((found) => found.id)).to.deep.equal([id]);
  });

  it('stops an import when its key is revoked', async () => {
    const revoked = await bench.key('PRO', { account: owner.account });
    const count = 20_000;
    const { id } = await imports.start(manyRows('revoked', count), revoked.key);
    await eventually('links are created', async () => (await imports.show(id, key)).created > 0);
    expect((await bench.admin('DELETE', `/admin/keys/${revoked.id}`)).status).to.equal(200);
    const { ended } = await imports.waitForEnd(id, key);
    const error = 'The key that started the import is no longer active.';
    expect(ended).to.include({ status: 'stopped', error });
    expect(ended.created).to.be.within(1, count - 1);
  });

  it('waits while shortening is off or in maintenance; an account has at most ten', async () => {
    const account = 'imports-waiting';
    const { key: waiting } = await bench.key('PRO', { account });
    const send = (index: number, as: string | null, query = '') =>
      imports.send(csvFile(header, row(`waiting-${index}`)), as, query);
    await switchFeatures({ features: { shortening: false } });
    try {
      const refused = await send(0, waiting);
      expect(refused.json()).to.include({ statusCode: 400, message: messages.shorteningOff });
      const ids: string[] = [];
      for (let index = 0; index < 10; index += 1) {
        const response = await send(index, null, `?account=${account}`);
        ids.push((response.json() as { id: string }).id);
      }
      const late = await send(10, null, `?account=${account}`);
      expect(late.json()).to.include({ statusCode: 503, message: messages.tooManyImports });
      expect(late.headers['retry-after']).to.equal('10');
      await switchFeatures({ maintenance: true, features: { shortening: true } });
      expect(await imports.show(ids[0] ?? '', null)).to.include({ status: 'running', rows: 0 });
      await switchFeatures({ maintenance: false });
      for (const id of ids) {
        expect((await imports.waitForEnd(id, waiting)).ended).to.include({ created: 1 });
      }
    } finally {
      await switchFeatures({ maintenance: false, features: { shortening: true } });
    }
  });

  it('receives four uploads of an account, eight in all, and one of each other account', async () => {
    const [first, second, third] = await Promise.all(
      ['a', 'b', 'c'].map((name) => bench.key('PRO', { account: `imports-up-${name}` })),
    );
    const refused: number[] = [];
    const start = (key: IssuedKey | undefined, count: number) =>
      Array.from({ length: count }, () => {
        const client = upload(key?.key ?? '');
        const ended = once(client, 'response').then(([response]) => {
          const { statusCode } = (response as IncomingMessage).resume();
          if (statusCode === 503) refused.push(statusCode);
          return statusCode;
        });
        client.write(`${header}\n`);
        return { client, ended };
      });
    const uploads = start(first, 5);
    await eventually('the fifth upload gets 503', () => refused.length === 1);
    uploads.push(...start(second, 4), ...start(third, 2));
    await eventually('the second upload of the third account gets 503', () => refused.length === 2);
    for (const { client } of uploads) client.end(row('uploaded'));
    const statuses = await Promise.all(uploads.map(({ ended }) => ended));
    expect(statuses.filter((status) => status === 202)).to.have.length(9);
  });
});
