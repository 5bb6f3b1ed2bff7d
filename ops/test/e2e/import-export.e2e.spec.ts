import { expect } from 'chai';
import type { ExportedLink } from '../../../schemas/http/export.js';
import type { ImportResponse } from '../../../schemas/http/imports.js';
import { eventuallyPasses } from '../support/waiting.js';
import { folderFixture } from '../support/fixtures.js';
import { generousPlansFile } from '../support/plans.js';
import { productFixture, type Bench } from './harness.js';

const account = 'moved';
const domains = ['go.moved.example', 'xn--bcher-kva.moved.example'] as const;

/** Links that only an import can create, because of their times, clicks and codes. */
const importedLinks: readonly Partial<ExportedLink>[] = [
  { code: 'imported-plain', alias: 'imported-plain', clicks: 17 },
  { code: 'Generated1', alias: null, clicks: 3 },
  { code: 'café.🎉', alias: 'café.🎉', title: 'Ünïcode “quotes” 🎉', tags: ['a b', 'ß', '+1'] },
  { code: 'ended', alias: 'ended', expiresAt: '2021-05-01T00:00:00.000Z', clicks: 9 },
  { code: 'used-up', alias: 'used-up', maxClicks: 5, clicks: 5 },
  { code: 'over-used', alias: 'over-used', maxClicks: 5, clicks: 8 },
  { code: 'half-used', alias: 'half-used', maxClicks: 5, clicks: 2 },
  { code: 'planned', alias: 'planned', startsAt: '2099-01-01T00:00:00.000Z' },
  {
    ...{ code: 'window', alias: 'window', startsAt: '2021-01-01T00:00:00.000Z' },
    expiresAt: '2099-01-01T00:00:00.000Z',
  },
  { code: 'off-and-ended', alias: null, disabled: true, expiresAt: '2021-05-01T00:00:00.000Z' },
  { code: 'same', alias: 'same', domain: domains[0], clicks: 1 },
  { code: 'same', alias: 'same', domain: domains[1], clicks: 2 },
  { code: 'same', alias: 'same', clicks: 4 },
];

const rules = [
  {
    name: 'all-conditions',
    when: {
      ...{ countries: ['CH', 'DE'], languages: ['de'], os: ['iOS'], devices: ['mobile'] },
      ...{ after: '2024-01-01T00:00:00.000Z', before: '2099-01-01T00:00:00.000Z' },
      weekly: { days: [1, 5], from: '22:00', to: '06:00', tz: 'Europe/Berlin' },
    },
    url: 'https://example.com/all',
  },
  {
    name: 'split',
    when: {},
    split: [
      { name: 'a', weight: 30, url: 'https://example.com/a' },
      { name: 'b', weight: 70, url: 'https://example.com/b?x=1#y' },
    ],
  },
];

describe('product: export, import into an empty installation, export', function () {
  this.timeout(120_000);
  const dir = folderFixture();
  const env = async (): Promise<Record<string, string>> => ({
    PLANS_FILE: await generousPlansFile(dir.path),
  });
  const source = productFixture(env);
  const target = productFixture(env);
  const keys = new Map<Bench, string>();
  const keyOf = (bench: Bench): string => keys.get(bench) ?? '';

  const prepare = async (bench: Bench): Promise<void> => {
    keys.set(bench, (await bench.key('PRO', { account })).key);
    for (const domain of domains) {
      const added = await bench.admin('POST', '/admin/domains', { domain, account });
      expect(added.status, added.text).to.equal(201);
    }
  };

  const runImport = async (bench: Bench, body: string): Promise<ImportResponse> => {
    const path = '/v2/imports';
    const options = { method: 'POST', body };
    const started = await bench.api(`${path}?format=linklog`, keyOf(bench), options);
    expect(started.status, started.text).to.equal(202);
    let imported = started.json() as ImportResponse;
    await eventuallyPasses(async () => {
      const response = await bench.api(`${path}/${imported.id}`, keyOf(bench));
      imported = response.json() as ImportResponse;
      expect(imported.status, response.text).to.equal('done');
    }, 30_000);
    return imported;
  };

  const exportText = async (bench: Bench): Promise<string> =>
    (await bench.api('/v2/export', keyOf(bench))).text;

  const linksOf = (text: string): readonly ExportedLink[] =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as ExportedLink);

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
    const file = importedLinks.map((link, index) => {
      const createdAt = new Date(Date.UTC(2020, 0, 1 + index)).toISOString();
      return `${JSON.stringify({ url: `https://example.com/${index}`, createdAt, ...link })}\n`;
    });
    const { created, failed } = await runImport(source, file.join(''));
    expect({ created, failed }).to.deep.equal({ created: importedLinks.length, failed: 0 });
    const key = keyOf(source);
    await source.link(key);
    for (const [alias, more] of [
      ['described', { title: "'=1+1", note: 'two\nlines, "quoted"', tags: ['x', 'y'] }],
      ['secret', { password: 'open sesame' }],
      ['ruled', { rules, forwardQuery: true }],
      ['limited', { maxClicks: 1 }],
      ['clicked', { expiresIn: 86_400, maxClicks: 10 }],
      ['off', {}],
      ['deleted', {}],
      ['on-domain', { domain: domains[0], rules, tags: ['z'] }],
    ] as const) {
      await source.link(key, { alias, ...more });
    }
    await source.change('off', key, { disabled: true });
    await source.api('/v2/links/deleted', key, { method: 'DELETE' });
    for (const code of ['limited', 'clicked', 'clicked', 'imported-plain']) {
      expect((await source.visit(code)).status, code).to.equal(302);
    }
    await source.expectClicks('limited', key, 1);
    await source.expectClicks('clicked', key, 2);
    await source.expectClicks('imported-plain', key, 18);
    await eventuallyPasses(async () => {
      expect(linksOf(await exportText(source))).to.have.length(importedLinks.length + 8);
      expect((await statuses(source)).get('null/limited')).to.equal('expired');
    });
  });

  it('has equal links with equal statuses, except that links with a password are disabled', async () => {
    const exported = await exportText(source);
    const expected = linksOf(exported).map((link) =>
      link.hasPassword ? { ...link, hasPassword: false, disabled: true } : link,
    );
    const { created, failed } = await runImport(target, exported);
    expect({ created, failed }).to.deep.equal({ created: expected.length, failed: 0 });
    const expectedText = expected.map((link) => `${JSON.stringify(link)}\n`).join('');
    await eventuallyPasses(async () => {
      expect(await exportText(target)).to.equal(expectedText);
    });
    const expectedStatuses = new Map(await statuses(source)).set('null/secret', 'disabled');
    expect(await statuses(target)).to.deep.equal(expectedStatuses);
    expect(new Set(expectedStatuses.values())).to.deep.equal(
      new Set(['active', 'disabled', 'expired', 'scheduled']),
    );

    const repeated = await runImport(target, exported);
    expect(repeated).to.include({ created: 0, existing: expected.length, failed: 0 });
    expect(await exportText(target)).to.equal(expectedText);
  });
});
