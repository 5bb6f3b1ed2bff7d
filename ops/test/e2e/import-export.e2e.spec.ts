// Two products: links of the shared one move to an empty installation.
import { expect } from 'chai';
import type { ExportedLink } from '../../../schemas/http/export.js';
import { eventuallyPasses } from '../support/waiting.js';
import { productFixture, sharedProduct, type Bench } from './harness.js';
import { importCalls, rowsOf } from './imports-harness.js';

const account = 'moved';
const domains = ['go.moved.example', 'xn--bcher-kva.moved.example'] as const;

/** Links with this tag move as CSV. */
const asCsv = { tags: ['as-csv'] };

/** A link that only an import can create, because of its times, clicks or code. */
const imported = (code: string, more: Partial<ExportedLink> = {}): Partial<ExportedLink> => ({
  ...{ code, alias: code, ...more },
});
const [past, future] = ['2021-05-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z'];
const importedLinks: readonly Partial<ExportedLink>[] = [
  imported('moved-plain', { clicks: 17 }),
  imported('moved-coded', {
    ...asCsv,
    codes: ['moved-2', `${domains[0]}/moved-2`, `${domains[1]}/ß.🎉`],
  }),
  imported('Generated1', { alias: null, clicks: 3 }),
  imported('café.🎉', { title: 'Ünïcode “quotes” 🎉', tags: ['a b', 'ß', '+1'] }),
  imported('moved-ended', { expiresAt: past, clicks: 9 }),
  imported('moved-used-up', { maxClicks: 5, clicks: 5 }),
  imported('moved-over-used', { maxClicks: 5, clicks: 8 }),
  imported('moved-half-used', { maxClicks: 5, clicks: 2 }),
  imported('moved-planned', { startsAt: future }),
  imported('moved-window', { startsAt: past, expiresAt: future }),
  imported('moved-off-and-ended', { alias: null, disabled: true, expiresAt: past }),
  imported('moved-same', { domain: domains[0], clicks: 1 }),
  imported('moved-same', { domain: domains[1], clicks: 2 }),
  imported('moved-same', { clicks: 4 }),
];

const options = {
  redirectStatus: 308,
  expiredUrl: 'https://example.com/over?ü=1',
  forwardPath: true,
  card: { title: 'Ünïcode “quotes”', description: 'a, "b"', image: 'https://example.com/a.png' },
};
const rules = [
  {
    name: 'all-conditions',
    when: {
      ...{ countries: ['CH', 'DE'], languages: ['de'], os: ['iOS'], devices: ['mobile'] },
      ...{ after: '2024-01-01T00:00:00.000Z', before: future },
      ...{
        query: { utm_source: 'a b', x: '*', y: null },
        networks: ['192.0.2.1', '2001:db8::/32'],
      },
      weekly: { days: [1, 5], from: '22:00', to: '06:00', tz: 'Europe/Berlin' },
    },
    url: 'https://example.com/all',
  },
  {
    ...{ name: 'split', when: {} },
    split: [
      { name: 'a', weight: 30, url: 'https://example.com/a' },
      { name: 'b', weight: 70, url: 'https://example.com/b?x=1#y' },
    ],
  },
];

describe('an import of an export', function () {
  this.timeout(120_000);
  const source = sharedProduct();
  const target = productFixture();
  const keys = new Map<Bench, string>();
  const keyOf = (bench: Bench): string => keys.get(bench) ?? '';

  const prepare = async (bench: Bench): Promise<void> => {
    keys.set(bench, (await bench.key('PRO', { account })).key);
    for (const domain of domains) {
      const added = await bench.admin('POST', '/admin/domains', { domain, account });
      expect(added.status, added.text).to.equal(201);
    }
  };
  const importText = async (bench: Bench, text: string, format = 'linklog') => {
    const { ended } = await importCalls(bench).run(text, keyOf(bench), `?format=${format}`);
    const { created, existing, failed } = ended;
    return { created, existing, failed };
  };
  const exportLinks = async (bench: Bench): Promise<readonly ExportedLink[]> =>
    rowsOf<ExportedLink>(await bench.api('/v2/export', keyOf(bench)));
  const linesOf = (links: readonly Partial<ExportedLink>[]): string =>
    links.map((link) => `${JSON.stringify(link)}\n`).join('');

  /** The statuses of all links, by domain and code. */
  const statuses = async (bench: Bench): Promise<ReadonlyMap<string, string>> => {
    const { links } = (await bench.api('/v2/links?limit=100', keyOf(bench))).json() as {
      readonly links: readonly Record<'domain' | 'shortCode' | 'status', string>[];
    };
    return new Map(
      links.map(({ domain, shortCode, status }) => [`${domain}/${shortCode}`, status]),
    );
  };

  before('create links in all states', async () => {
    await prepare(source);
    await prepare(target);
    const file = importedLinks.map((link, index) => ({
      ...{ url: `https://example.com/${index}`, ...link },
      createdAt: new Date(Date.UTC(2020, 0, 1 + index)).toISOString(),
    }));
    expect(await importText(source, linesOf(file))).to.deep.equal({
      ...{ created: importedLinks.length, existing: 0, failed: 0 },
    });
    const key = keyOf(source);
    await source.link(key);
    for (const [alias, more] of [
      ['moved-described', { title: "'=1+1", note: 'two\nlines, "quoted"', tags: ['x', 'y'] }],
      ['moved-secret', { password: 'open sesame' }],
      ['moved-ruled', { rules, forwardQuery: true }],
      ['moved-csv', { ...options, ...asCsv, rules, forwardQuery: true }],
      ['moved-options', options],
      ['moved-limited', { maxClicks: 1 }],
      ['moved-clicked', { expiresIn: 86_400, maxClicks: 10 }],
      ['moved-off', {}],
      ['moved-deleted', {}],
      ['moved-on-domain', { domain: domains[0], rules, tags: ['z'] }],
    ] as const) {
      await source.link(key, { alias, ...more });
    }
    await source.change('moved-off', key, { disabled: true });
    await source.api('/v2/links/moved-deleted', key, { method: 'DELETE' });
    for (const [code, clicks] of [
      ...[['moved-limited', 1] as const, ['moved-clicked', 1] as const],
      ['moved-plain', 18] as const,
    ]) {
      expect((await source.visit(code)).status, code).to.equal(302);
      await source.expectClicks(code, key, clicks);
    }
    await eventuallyPasses(async () => {
      expect(await exportLinks(source)).to.have.length(importedLinks.length + 10);
      expect((await statuses(source)).get('null/moved-limited')).to.equal('expired');
    });
  });

  it('has equal links with equal statuses, except that links with a password are disabled', async () => {
    const exported = await exportLinks(source);
    const created = exported.length;
    const csv = (await source.api('/v2/export?format=csv&tag=as-csv', keyOf(source))).text;
    const none = { existing: 0, failed: 0 };
    expect(await importText(target, csv, 'csv')).to.deep.equal({ created: 2, ...none });
    const rest = linesOf(exported.filter(({ tags }) => !tags.includes('as-csv')));
    expect(await importText(target, rest)).to.deep.equal({ created: created - 2, ...none });
    const expected = exported.map((link) =>
      link.hasPassword ? { ...link, hasPassword: false, disabled: true } : link,
    );
    await eventuallyPasses(async () => {
      expect(await exportLinks(target)).to.deep.equal(expected);
    });
    const expectedStatuses = new Map(await statuses(source)).set('null/moved-secret', 'disabled');
    expect(await statuses(target)).to.deep.equal(expectedStatuses);
    expect(new Set(expectedStatuses.values())).to.deep.equal(
      new Set(['active', 'disabled', 'expired', 'scheduled']),
    );
    expect(await importText(target, linesOf(exported))).to.deep.equal({
      ...{ created: 0, existing: created, failed: 0 },
    });
    expect(await exportLinks(target)).to.deep.equal(expected);
  });
});
