import { expect } from 'chai';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { messages } from '../../../schemas/http/errors.js';
import type { ExportedLink } from '../../../schemas/http/export.js';
import { parseCsv, withoutGuard } from '../../../schemas/testing/csv.js';
import { createLinks } from '../support/create-links.js';
import { folderFixture } from '../support/fixtures.js';
import type { HttpResponse } from '../support/http.js';
import { generousPlansFile } from '../support/plans.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { destination, expectBody, expectError, lacking, productFixture } from './harness.js';

const fields = [
  ...['domain', 'code', 'alias', 'url', 'title', 'note', 'tags', 'createdAt', 'expiresAt'],
  ...['startsAt', 'maxClicks', 'clicks', 'disabled', 'rules', 'forwardQuery', 'hasPassword'],
];

const domain = 'export.example.com';

describe('command API: GET /v2/export', () => {
  const dir = folderFixture();
  const bench = productFixture(async () => ({ PLANS_FILE: await generousPlansFile(dir.path) }));
  let key: string;

  const ask = (query = '', as = key, options = {}): Promise<HttpResponse> =>
    bench.api(`/v2/export${query}`, as, options);

  const linksOf = ({ text }: Pick<HttpResponse, 'text'>): readonly ExportedLink[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as ExportedLink);

  const exported = async (query = '', as = key): Promise<readonly ExportedLink[]> => {
    const response = await ask(query, as);
    expect(response.status, response.text).to.equal(200);
    return linksOf(response);
  };

  const codes = async (query = '', as = key): Promise<readonly string[]> =>
    (await exported(query, as)).map(({ code }) => code);

  before(async () => {
    ({ key } = await bench.key('PRO', { account: 'exports' }));
    const added = await bench.admin('POST', '/admin/domains', { domain, account: 'exports' });
    expect(added.status, added.text).to.equal(201);
    const rules = [{ name: 'ios', when: { os: ['iOS'] }, url: 'https://example.com/ios' }];
    for (const [alias, more] of [
      ['plain', {}],
      ['formula', { title: '=1+1', note: '@a, "b"\nc', tags: ['+x', 'y'] }],
      ['everything', { domain, expiresIn: 3_600, maxClicks: 5, password: 'open sesame', rules }],
      ['forwarding', { forwardQuery: true, startsAt: '2099-01-01T00:00:00Z' }],
      ['switched-off', { title: "'quoted" }],
      ['removed', {}],
    ] as const) {
      await bench.link(key, { alias, ...more });
    }
    await bench.change('switched-off', key, { disabled: true });
    await bench.api('/v2/links/removed', key, { method: 'DELETE' });
    expect((await bench.visit('plain')).status).to.equal(302);
    await bench.expectClicks('plain', key, 1);
    const other = await bench.key('PRO', { account: 'other-exports' });
    await bench.link(other.key, { alias: 'not-exported' });
    await eventuallyPasses(async () => {
      expect(await codes()).to.deep.equal([
        ...['switched-off', 'forwarding', 'everything', 'formula', 'plain'],
      ]);
      expect(await codes('?status=disabled')).to.deep.equal(['switched-off']);
    });
  });

  it('has one JSON object per link, with the values that the list has', async () => {
    const links = await exported();
    const { links: listed } = (await bench.api('/v2/links', key)).json() as {
      readonly links: readonly Readonly<Record<string, unknown>>[];
    };
    expect(links).to.deep.equal(
      listed.map((link) => ({
        ...{ domain: link['domain'], code: link['shortCode'], alias: link['alias'] },
        ...{ url: link['url'], title: link['title'], note: link['note'], tags: link['tags'] },
        ...{ createdAt: link['createdAt'], expiresAt: link['expiresAt'] },
        ...{ startsAt: link['startsAt'], maxClicks: link['maxClicks'] },
        ...{ clicks: link['clickCount'], disabled: link['status'] === 'disabled' },
        ...{ rules: link['rules'], forwardQuery: link['forwardQuery'] },
        hasPassword: link['hasPassword'],
      })),
    );
    for (const link of links) expect(Object.keys(link)).to.deep.equal(fields);
    expect(links.at(-1)).to.deep.include({ code: 'plain', clicks: 1, tags: [], rules: null });
    expect(links[2]).to.deep.include({ domain, maxClicks: 5, hasPassword: true });
  });

  it('has the same values as CSV, with a guard against formulas', async () => {
    const response = await ask('?format=csv');
    expect(response.headers['content-type']).to.equal('text/csv; charset=utf-8');
    const [head, ...rows] = parseCsv(response.text);
    expect(head).to.deep.equal(fields);
    expect(rows.map((row) => row.map(withoutGuard))).to.deep.equal(
      (await exported()).map(({ tags, rules, ...link }) => {
        const values = { ...link, tags: tags.join(), rules: rules && JSON.stringify(rules) };
        return fields.map((name) => String(new Map(Object.entries(values)).get(name) ?? ''));
      }),
    );
    expect(rows.flat()).to.include.members(["'=1+1", "''quoted", "'+x,y", `'@a, "b"\nc`]);
  });

  it('has only the links of the filters of the list', async () => {
    for (const [query, expected] of [
      [`?domain=${domain}`, ['everything']],
      ['?tag=Y', ['formula']],
      ['?search=QUOTED', ['switched-off']],
      ['?status=deleted', ['removed']],
      ['?status=scheduled&destination=example.com', ['forwarding']],
      ['?createdBefore=2026-01-01', []],
    ] as const) {
      expect(await codes(query), query).to.deep.equal(expected);
    }
    expect((await ask('?format=csv&status=blocked')).text).to.equal(`${fields.join()}\r\n`);
  });

  it('names the file, and has the headers of /v2', async () => {
    for (const format of ['jsonl', 'csv']) {
      const { headers } = await ask(`?format=${format}`);
      expect(headers['content-disposition']).to.match(
        new RegExp(`^attachment; filename="linklog-links-\\d{4}-\\d\\d-\\d\\d\\.${format}"$`),
      );
      expect(headers['cache-control']).to.equal('no-store');
      expect(headers).to.include.keys('x-ratelimit-remaining', 'x-api-key-name', 'x-request-id');
    }
    expect((await ask()).headers['content-type']).to.equal('application/x-ndjson; charset=utf-8');
  });

  it('responds to HEAD without a body, and costs one call', async () => {
    const own = await bench.key('PRO', { account: 'exports' });
    const head = await ask('?format=csv', own.key, { method: 'HEAD' });
    expect([head.status, head.text]).to.deep.equal([200, '']);
    expect(head.headers['content-type']).to.equal('text/csv; charset=utf-8');
    expect(head.headers['content-disposition']).to.be.a('string');
    expect((await bench.usage(own.key)).calls).to.equal(1);
    await exported('', own.key);
    expect((await bench.usage(own.key)).calls).to.equal(2);
  });

  it('responds to errors with 400, 401, 403 and 405', async () => {
    for (const [query, message] of [
      ['?format=xml', 'format must be either jsonl or csv'],
      ['?tz=Berlin', 'tz must be an IANA time zone, such as Europe/Berlin'],
    ] as const) {
      expectError(await ask(query), { status: 400, message, path: '/v2/export' });
    }
    const { key: limited } = await bench.key('PRO', { scopes: ['stats:read'] });
    expectBody(await ask('', limited), 403, lacking('links:read'));
    expect((await ask('', 'll_nonsense')).status).to.equal(401);
    expect((await ask('', key, { method: 'POST' })).status).to.equal(405);
  });

  describe('of many links', () => {
    const count = 20_000;
    let many: string;
    const open = new Set<IncomingMessage>();

    /** Starts an export whose body is not read yet. */
    const start = async (as = many): Promise<IncomingMessage> => {
      const headers = { Authorization: `Bearer ${as}` };
      const request = get(`${bench.product.api}/v2/export`, { agent: false, headers });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      open.add(response);
      response.on('error', () => undefined);
      return response;
    };

    const read = async (response: IncomingMessage): Promise<string> => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
      return text;
    };

    before(async function () {
      this.timeout(120_000);
      ({ key: many } = await bench.key('PRO', { account: 'many' }));
      // Long URLs, so that the file does not fit into the buffers of the connection.
      const urlOf = (index: number): string =>
        `https://example.com/${index}?${'x'.repeat(index < 19_000 ? 1_000 : 0)}`;
      const { apis } = bench.product;
      await createLinks(apis[0] ?? '', many, count, urlOf);
      await eventually(
        'all links are exported',
        async () => (await codes('', many)).length === count,
        60_000,
      );
    });

    afterEach(() => {
      for (const response of open) response.destroy();
      open.clear();
    });

    it('is one snapshot: later changes are not in it', async function () {
      this.timeout(60_000);
      const response = await start();
      const { shortCode } = await bench.link(many, { alias: 'created-meanwhile' });
      const before = await codes('', many);
      const [first = '', last = ''] = [before.find((code) => code !== shortCode), before.at(-1)];
      for (const code of [first, last]) {
        const changed = await bench.change(code, many, { url: destination, title: 'changed' });
        expect(changed.status, changed.text).to.equal(200);
      }
      const deleted = before.at(-2) ?? '';
      await bench.api(`/v2/links/${deleted}`, many, { method: 'DELETE' });
      await eventuallyPasses(async () => {
        const now = await exported('', many);
        expect(now).to.have.length(count);
        expect(now.filter(({ title }) => title === 'changed')).to.have.length(2);
      });
      const links = linksOf({ text: await read(response) });
      expect(links).to.have.length(count);
      expect(new Set(links.map(({ code }) => code)).size).to.equal(count);
      expect(links.some(({ code }) => code === shortCode)).to.equal(false);
      expect(links.some(({ code }) => code === deleted)).to.equal(true);
      expect(links.some(({ title }) => title === 'changed')).to.equal(false);
    });

    it('responds with 503 while two exports of the account run', async function () {
      this.timeout(60_000);
      const [first, second] = [await start(), await start()];
      const { product } = bench;
      const headers = { Authorization: `Bearer ${many}` };
      const refusal = async (): Promise<IncomingMessage> => {
        const request = get(`${product.api}/v2/export`, { agent: false, headers });
        return ((await once(request, 'response')) as [IncomingMessage])[0];
      };
      const refused = await refusal();
      expect(refused.statusCode).to.equal(503);
      expect(refused.headers['retry-after']).to.equal('10');
      expect(JSON.parse(await read(refused))).to.include({ message: messages.tooManyExports });
      expect(await codes()).to.have.length(5);
      first.destroy();
      await eventually('an export can start', async () => {
        const response = await refusal();
        response.destroy();
        return response.statusCode === 200;
      });
      expect(linksOf({ text: await read(second) })).to.have.length(count);
    });

    it('serves a client that reads 10 KB a second for half a minute', async function () {
      this.timeout(120_000);
      const slow = await start();
      slow.pause();
      const startedAt = performance.now();
      let bytes = 0;
      while (performance.now() - startedAt < 30_000) {
        await sleep(100);
        bytes += (slow.read(1_000) as Buffer | null)?.length ?? 0;
      }
      for await (const chunk of slow as AsyncIterable<Buffer>) bytes += chunk.length;
      expect(slow.complete).to.equal(true);
      expect(bytes).to.be.above(19_000_000);
    });

    it('frees the place of a client that leaves', async () => {
      for (let round = 0; round < 6; round += 1) {
        const response = await start();
        expect(response.statusCode).to.equal(200);
        response.destroy();
        await sleep(50);
      }
      await eventuallyPasses(async () => {
        expect((await ask('', many)).status).to.equal(200);
      });
    });
  });
});
