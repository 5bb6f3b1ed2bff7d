import { expect } from 'chai';
import type { ExportedLink } from '../../../schemas/http/export.js';
import { parseCsv, withoutGuard } from '../../../schemas/testing/csv.js';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { consoleCalls, cookieOf } from './console-harness.js';
import { expectError, sharedProduct } from './harness.js';
import { rowsOf } from './imports-harness.js';

const fields = [
  ...['domain', 'code', 'alias', 'url', 'title', 'note', 'tags', 'createdAt', 'expiresAt'],
  ...['startsAt', 'maxClicks', 'clicks', 'disabled', 'rules', 'forwardQuery', 'hasPassword'],
];
/** JSON has only the options that the link has, except for the first two. */
const columns = fields.toSpliced(
  -1,
  0,
  'redirectStatus',
  'expiredUrl',
  'forwardPath',
  'card',
  'codes',
);
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
    expect(head).to.deep.equal(columns);
    expect(rows.map((row) => row.map(withoutGuard))).to.deep.equal(
      (await exported()).map(({ tags, rules, card, ...link }) => {
        const values = {
          ...link,
          tags: tags.join(),
          rules: rules && JSON.stringify(rules),
          card: card && JSON.stringify(card),
        };
        return columns.map((name) => String(new Map(Object.entries(values)).get(name) ?? ''));
      }),
    );
    expect(rows.flat()).to.include.members(["'=1+1", "''quoted", "'+x,y", `'@a, "b"\nc`]);
  });

  it('has a byte order mark and short URLs in the console, whose users open it in a spreadsheet', async () => {
    const headers = { Cookie: cookieOf(await signIn({ key })) };
    const download = (format: string): Promise<HttpResponse> =>
      sendRequest(`${bench.product.api}/console/v2/export?format=${format}`, { headers });
    const mark = Buffer.from('\ufeff');
    const { bytes } = await download('csv');
    expect(bytes.subarray(0, mark.length)).to.deep.equal(mark);
    const shortUrl = /,(?:shortLinkUrl|https?:\/\/[^,\s]*\/[^,\s/]+)\r\n/g;
    const rows = bytes.subarray(mark.length).toString();
    expect(rows.match(shortUrl)).to.have.length.above(1);
    expect(rows.replaceAll(shortUrl, '\r\n')).to.equal((await ask('?format=csv')).text);
    expect((await download('jsonl')).bytes).to.deep.equal((await ask()).bytes);
  });

  it('has only the links of the filters of the list', async () => {
    const filters = '?status=scheduled&destination=example.com&search=FORW';
    expect(await codes(filters)).to.deep.equal(['forwarding']);
    await eventuallyPasses(async () => {
      expect(await codes('?status=deleted')).to.deep.equal(['removed']);
    });
    expect((await ask('?format=csv&status=blocked')).text).to.equal(`${columns.join()}\r\n`);
  });

  it('names the file, and costs one call', async () => {
    const own = await bench.key('PRO', { account });
    const { headers } = await ask('?format=csv', own.key);
    expect(headers['content-disposition']).to.match(
      /^attachment; filename="linklog-links-\d{4}-\d\d-\d\d\.csv"$/,
    );
    expect(headers).to.include({
      ...{ 'content-type': 'text/csv; charset=utf-8', 'cache-control': 'no-store' },
    });
    const { 'content-type': type } = (await ask('', own.key)).headers;
    expect(type).to.equal('application/x-ndjson; charset=utf-8');
    expect((await bench.usage(own.key)).calls).to.equal(2);
  });

  it('is 400 with an invalid parameter', async () => {
    const message = 'format must be either jsonl or csv';
    expectError(await ask('?format=xml'), { status: 400, message, path: '/v2/export' });
  });
});
