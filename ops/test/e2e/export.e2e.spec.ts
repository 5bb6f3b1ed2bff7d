import { expect } from 'chai';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { messages } from '../../../schemas/http/errors.js';
import type { ExportedLink } from '../../../schemas/http/export.js';
import { parseCsv, withoutGuard } from '../../../schemas/testing/csv.js';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { consoleCalls, cookieOf } from './console-harness.js';
import { destination, expectBody, expectError, lacking, sharedProduct } from './harness.js';
import { importCalls, rowsOf } from './imports-harness.js';

const fields = [
  ...['domain', 'code', 'alias', 'url', 'title', 'note', 'tags', 'createdAt', 'expiresAt'],
  ...['startsAt', 'maxClicks', 'clicks', 'disabled', 'rules', 'forwardQuery', 'hasPassword'],
];
const domain = 'export.example.com';
const account = 'exports';

describe('GET /v2/export', () => {
  const bench = sharedProduct();
  const { signIn } = consoleCalls(bench);
  let key: string;

  const ask = (query = '', as = key, options = {}): Promise<HttpResponse> =>
    bench.api(`/v2/export${query}`, as, options);
  const exported = async (query = '', as = key): Promise<readonly ExportedLink[]> =>
    rowsOf<ExportedLink>(await ask(query, as));
  const codes = async (query = '', as = key): Promise<readonly string[]> =>
    (await exported(query, as)).map(({ code }) => code.replace('export-', ''));

  before(async () => {
    ({ key } = await bench.key('PRO', { account }));
    const added = await bench.admin('POST', '/admin/domains', { domain, account });
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
      await bench.link(key, { alias: `export-${alias}`, ...more });
    }
    await bench.change('export-switched-off', key, { disabled: true });
    await bench.api('/v2/links/export-removed', key, { method: 'DELETE' });
    await bench.visit('export-plain');
    await bench.expectClicks('export-plain', key, 1);
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
    const sources = { code: 'shortCode', clicks: 'clickCount' };
    expect(links).to.deep.equal(
      listed.map((link) => ({
        ...Object.fromEntries(
          fields.map((name) => [name, link[new Map(Object.entries(sources)).get(name) ?? name]]),
        ),
        disabled: link['status'] === 'disabled',
      })),
    );
    for (const link of links) expect(Object.keys(link)).to.deep.equal(fields);
    expect(links.at(-1)).to.deep.include({ clicks: 1, tags: [], rules: null });
    expect(links[2]).to.deep.include({ domain, maxClicks: 5, hasPassword: true });
  });

  it('has the same values as CSV, with a guard against formulas', async () => {
    const [head, ...rows] = parseCsv((await ask('?format=csv')).text);
    expect(head).to.deep.equal(fields);
    expect(rows.map((row) => row.map(withoutGuard))).to.deep.equal(
      (await exported()).map(({ tags, rules, ...link }) => {
        const values = { ...link, tags: tags.join(), rules: rules && JSON.stringify(rules) };
        return fields.map((name) => String(new Map(Object.entries(values)).get(name) ?? ''));
      }),
    );
    expect(rows.flat()).to.include.members(["'=1+1", "''quoted", "'+x,y", `'@a, "b"\nc`]);
  });

  it('starts with a byte order mark in the console, whose users open it in a spreadsheet', async () => {
    const headers = { Cookie: cookieOf(await signIn({ key })) };
    const download = (format: string): Promise<HttpResponse> =>
      sendRequest(`${bench.product.api}/console/v2/export?format=${format}`, { headers });
    const mark = Buffer.from('\ufeff');
    const { bytes } = await download('csv');
    expect(bytes.subarray(0, mark.length)).to.deep.equal(mark);
    expect(bytes.subarray(mark.length)).to.deep.equal((await ask('?format=csv')).bytes);
    expect((await download('jsonl')).bytes).to.deep.equal((await ask()).bytes);
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

  it('names the file, is a HEAD without a body, and costs one call', async () => {
    const own = await bench.key('PRO', { account });
    for (const [format, type] of [
      ['jsonl', 'application/x-ndjson'],
      ['csv', 'text/csv'],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        const { headers, text: body } = await ask(`?format=${format}`, own.key, { method });
        expect(headers['content-disposition']).to.match(
          new RegExp(`^attachment; filename="linklog-links-\\d{4}-\\d\\d-\\d\\d\\.${format}"$`),
        );
        expect(headers).to.include({
          ...{ 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' },
        });
        expect(body === '').to.equal(method === 'HEAD');
      }
    }
    expect((await bench.usage(own.key)).calls).to.equal(4);
  });

  it('is 400 with invalid parameters, and 403 without links:read', async () => {
    const message = 'format must be either jsonl or csv';
    expectError(await ask('?format=xml'), { status: 400, message, path: '/v2/export' });
    const { key: limited } = await bench.key('PRO', { account, scopes: ['stats:read'] });
    expectBody(await ask('', limited), 403, lacking('links:read'));
  });

  describe('of many links', () => {
    const count = 8_000;
    const many = 'many-exports';
    let own: string;
    const open = new Set<IncomingMessage>();

    /** Starts an export whose body is not read yet. */
    const start = async (): Promise<IncomingMessage> => {
      const headers = { Authorization: `Bearer ${own}` };
      const request = get(`${bench.product.api}/v2/export`, { agent: false, headers });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      open.add(response);
      response.on('error', () => undefined);
      return response;
    };
    const linksIn = async (response: IncomingMessage): Promise<readonly ExportedLink[]> =>
      rowsOf<ExportedLink>({ status: 200, text: await text(response) } as HttpResponse);

    before(async function () {
      this.timeout(120_000);
      ({ key: own } = await bench.key('PRO', { account: many }));
      // Long notes, so that the file does not fit into the buffers of the connection.
      const links = Array.from({ length: count }, (_, index) => ({
        ...{ code: `many-${index}`, url: `${destination}&n=${index}`, note: 'x'.repeat(2_000) },
      }));
      const file = links.map((link) => JSON.stringify(link)).join('\n');
      const imports = importCalls(bench);
      const { id } = await imports.start(file, null, `?format=linklog&account=${many}`);
      await imports.waitForEnd(id, null);
      await eventually(
        'all links are exported',
        async () => (await exported('', own)).length === count,
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
      for (const code of ['many-0', `many-${count - 1}`]) {
        const changed = await bench.change(code, own, { title: 'changed' });
        expect(changed.status, changed.text).to.equal(200);
      }
      await bench.link(own, { alias: 'many-created-meanwhile' });
      await bench.api('/v2/links/many-1', own, { method: 'DELETE' });
      await eventuallyPasses(async () => {
        const now = await exported('', own);
        expect(now).to.have.length(count);
        expect(now.filter(({ title }) => title === 'changed')).to.have.length(2);
      });
      const links = await linksIn(response);
      expect(new Set(links.map(({ code }) => code)).size).to.equal(count);
      expect(links).to.have.length(count);
      for (const { title, code } of links) {
        expect([title, code]).to.not.include.oneOf(['changed', 'many-created-meanwhile']);
      }
    });

    it('responds with 503 while two exports of the account run, until a client leaves', async function () {
      this.timeout(60_000);
      const [first, second] = [await start(), await start()];
      const refused = await start();
      expect(refused.statusCode).to.equal(503);
      expect(refused.headers['retry-after']).to.equal('10');
      expect(JSON.parse(await text(refused))).to.include({ message: messages.tooManyExports });
      expect(await codes()).to.have.length(5);
      first.destroy();
      for (let round = 0; round < 3; round += 1) {
        await eventually('an export can start', async () => {
          const response = await start();
          response.destroy();
          return response.statusCode === 200;
        });
      }
      expect(await linksIn(second)).to.have.length(count);
    });
  });
});
