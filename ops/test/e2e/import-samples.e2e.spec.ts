import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import type { ImportFormat } from '../../../schemas/http/imports.js';
import type { LinkDetails } from '../../../schemas/http/links.js';
import { projectFile } from '../../platform/files/project-file.js';
import { keyFixture, sharedProduct } from './harness.js';
import { importCalls, outcomesOf } from './imports-harness.js';

const folder = projectFile('command-api', 'testing', 'import-samples');

type Sample = readonly [
  format: ImportFormat,
  /** The rows with their codes and outcomes. */
  outcomes: readonly string[],
  /** Values of created links by code. */
  links: Readonly<Record<string, Partial<LinkDetails>>>,
];

const samples: Readonly<Record<string, Sample>> = {
  'bitly-bitlinks.json': [
    'bitly-json',
    ['1 Sale created', '1 brand-sale created'],
    {
      Sale: {
        ...{ url: 'https://shop.example/?a=1&b=2', title: 'Sale', tags: ['q4', 'mail'] },
        createdAt: '2020-10-26T17:20:40.000Z',
      },
    },
  ],
  'bitly-ui-export.csv': [
    'bitly-csv',
    ['2 Sale created'],
    { Sale: { title: 'Sale', clickCount: 1_204, createdAt: '2020-10-26T00:00:00.000Z' } },
  ],
  'dub-export.csv': [
    'dub-csv',
    ['2 sale created', '3 f created'],
    { sale: { clickCount: 882, tags: ['q4', 'mail'], createdAt: '2024-09-02T18:49:56.136Z' } },
  ],
  'kutt-api-links.json': [
    'kutt-json',
    ['2 Ab3xYz disabled', '3 x_y-z invalid'],
    {
      Ab3xYz: {
        ...{ title: 'Spring', clickCount: 41, hasPassword: false },
        ...{ createdAt: '2025-01-02T03:04:05.000Z', expiresAt: '2026-12-31T23:00:00.000Z' },
      },
    },
  ],
  'lstu.csv': [
    'csv',
    ['2 aBc-1 created', '3 zz9 invalid', '4 spam disabled'],
    {
      'aBc-1': { clickCount: 5, createdAt: '2020-02-01T00:00:00.000Z', status: 'active' },
      spam: { clickCount: 99, status: 'disabled' },
    },
  ],
  'shlink-web-short_urls.csv': [
    'shlink-csv',
    ['2 9r2TW created', '3 😀 created', '4 docs/install invalid'],
    {
      '9r2TW': {
        ...{ url: 'https://example.com/a?x=1,2', title: 'He said "hi"', tags: ['news', '2024'] },
        ...{ clickCount: 61, createdAt: '2024-08-15T19:03:56.000Z' },
      },
    },
  ],
  'two-columns-excel-semicolon-bom.csv': [
    'csv',
    ['2 abc created', '3 1E5 created'],
    { '1E5': { url: 'https://example.org/e' } },
  ],
  'two-columns-latin1.csv': [
    'csv',
    ['2 käse created'],
    { käse: { url: 'https://example.org/latin1' } },
  ],
  'two-columns-space-no-header.txt': [
    'csv',
    ['1 abc created'],
    { abc: { url: 'https://example.org/' } },
  ],
  'yourls-mysqldump.sql': [
    'yourls-sql',
    ['28 1 created', '28 ozh created', '28 caf\\e invalid', '28 Abc created', '28 abc created'],
    {
      '1': {
        ...{ url: 'https://example.org/', title: 'It\'s "one"; -- not a comment' },
        ...{ clickCount: 17, createdAt: '2023-05-01T08:00:00.000Z' },
      },
      Abc: { url: 'https://example.org/upper', title: null, clickCount: 1 },
      abc: { url: 'https://example.org/lower', clickCount: 2 },
    },
  ],
};

describe('an import of a sample file', () => {
  const bench = sharedProduct();
  const owner = keyFixture(bench, 'PRO', { account: 'import-samples' });
  const imports = importCalls(bench);
  const read = (name: string): Buffer => readFileSync(`${folder}/${name}`);

  for (const [name, [format, outcomes, links]] of Object.entries(samples)) {
    it(`detects the format of ${name}, and creates its links`, async () => {
      // Samples have the same codes.
      const domain = `${name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}.example`;
      const body = { domain, account: owner.account };
      expect((await bench.admin('POST', '/admin/domains', body)).status).to.equal(201);
      const { ended, rows } = await imports.run(read(name), owner.key, `?domain=${domain}`);
      expect(ended).to.include({ format, status: 'done' });
      const found = outcomesOf({ rows }).map((text, index) => `${rows[index]?.row ?? ''} ${text}`);
      expect(found).to.deep.equal(outcomes);
      for (const [code, expected] of Object.entries(links)) {
        expect(await imports.details(code, owner.key, domain)).to.deep.include(expected);
      }
    });
  }

  it('rejects files of other formats with 400', async () => {
    const others = readdirSync(folder).filter((name) => !(name in samples));
    expect(others).to.have.length(8);
    for (const name of others) {
      const response = await imports.send(read(name), owner.key);
      expect([name, response.status]).to.deep.equal([name, 400]);
      expect(response.text).to.include('The format of the file was not recognised');
    }
  });
});
