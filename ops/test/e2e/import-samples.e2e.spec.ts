import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import type { ImportFormat, ImportedRow } from '../../../schemas/http/imports.js';
import type { LinkDetails } from '../../../schemas/http/links.js';
import { projectFile } from '../../platform/files/project-file.js';
import { folderFixture } from '../support/fixtures.js';
import { generousPlansFile } from '../support/plans.js';
import { keyFixture, productFixture } from './harness.js';
import { importCalls } from './imports-harness.js';

const folder = projectFile('command-api', 'testing', 'import-samples');

type Outcome = readonly [row: number, code: string, outcome: ImportedRow['outcome']];

interface Sample {
  readonly format: ImportFormat;
  readonly outcomes: readonly Outcome[];
  /** Messages by code. */
  readonly messages?: Readonly<Record<string, string>>;
  /** Values of created links by code. */
  readonly links: Readonly<Record<string, Partial<LinkDetails>>>;
}

const noCode = 'No link can have this code.';
const otherScheme = 'The destination is not valid: it does not start with http:// or https://.';
const disabled = 'The link is disabled, because its password is unknown.';

const samples: Readonly<Record<string, Sample>> = {
  'bitly-bitlinks.json': {
    format: 'bitly-json',
    outcomes: [
      [1, 'Sale', 'created'],
      [1, 'brand-sale', 'created'],
    ],
    links: {
      Sale: {
        ...{ url: 'https://shop.example/?a=1&b=2', title: 'Sale', tags: ['q4', 'mail'] },
        createdAt: '2020-10-26T17:20:40.000Z',
      },
    },
  },
  'bitly-ui-export.csv': {
    format: 'bitly-csv',
    outcomes: [[2, 'Sale', 'created']],
    links: { Sale: { title: 'Sale', clickCount: 1_204, createdAt: '2020-10-26T00:00:00.000Z' } },
  },
  'dub-export.csv': {
    format: 'dub-csv',
    outcomes: [
      [2, 'sale', 'created'],
      [3, 'f', 'created'],
    ],
    links: {
      sale: { clickCount: 882, tags: ['q4', 'mail'], createdAt: '2024-09-02T18:49:56.136Z' },
      f: { clickCount: 0, tags: ['=cmd'] },
    },
  },
  'kutt-api-links.json': {
    format: 'kutt-json',
    outcomes: [
      [2, 'Ab3xYz', 'disabled'],
      [3, 'x_y-z', 'invalid'],
    ],
    messages: { Ab3xYz: disabled, 'x_y-z': otherScheme },
    links: {
      Ab3xYz: {
        ...{ title: 'Spring', clickCount: 41, hasPassword: false },
        ...{ createdAt: '2025-01-02T03:04:05.000Z', expiresAt: '2026-12-31T23:00:00.000Z' },
      },
    },
  },
  'lstu.csv': {
    format: 'csv',
    outcomes: [
      [2, 'aBc-1', 'created'],
      [3, 'zz9', 'invalid'],
      [4, 'spam', 'disabled'],
    ],
    messages: { zz9: 'The row has no destination URL.' },
    links: {
      'aBc-1': { clickCount: 5, createdAt: '2020-02-01T00:00:00.000Z', status: 'active' },
      spam: { clickCount: 99, status: 'disabled' },
    },
  },
  'shlink-web-short_urls.csv': {
    format: 'shlink-csv',
    outcomes: [
      [2, '9r2TW', 'created'],
      [3, '😀', 'created'],
      [4, 'docs/install', 'invalid'],
    ],
    messages: { 'docs/install': noCode },
    links: {
      '9r2TW': {
        ...{ url: 'https://example.com/a?x=1,2', title: 'He said "hi"', tags: ['news', '2024'] },
        ...{ clickCount: 61, createdAt: '2024-08-15T19:03:56.000Z' },
      },
      '😀': { createdAt: '2024-08-15T22:00:00.000Z', title: null },
    },
  },
  'two-columns-excel-semicolon-bom.csv': {
    format: 'csv',
    outcomes: [
      [2, 'abc', 'created'],
      [3, '1E5', 'created'],
    ],
    links: { abc: { url: 'https://example.org/' }, '1E5': { url: 'https://example.org/e' } },
  },
  'two-columns-latin1.csv': {
    format: 'csv',
    outcomes: [[2, 'käse', 'created']],
    links: { käse: { url: 'https://example.org/latin1' } },
  },
  'two-columns-space-no-header.txt': {
    format: 'csv',
    outcomes: [[1, 'abc', 'created']],
    links: { abc: { url: 'https://example.org/' } },
  },
  'yourls-mysqldump.sql': {
    format: 'yourls-sql',
    outcomes: [
      [28, '1', 'created'],
      [28, 'ozh', 'created'],
      [28, 'caf\\e', 'invalid'],
      [28, 'Abc', 'created'],
      [28, 'abc', 'created'],
    ],
    messages: { 'caf\\e': noCode },
    links: {
      '1': {
        ...{ url: 'https://example.org/', title: 'It\'s "one"; -- not a comment' },
        ...{ clickCount: 17, createdAt: '2023-05-01T08:00:00.000Z' },
      },
      ozh: { url: 'http://ozh.example/a,b);(', title: 'Zeile zwei', clickCount: 0 },
      Abc: { url: 'https://example.org/upper', title: null, clickCount: 1 },
      abc: { url: 'https://example.org/lower', clickCount: 2 },
    },
  },
};

describe('command API: imports of sample files', () => {
  const dir = folderFixture();
  const bench = productFixture(async () => ({ PLANS_FILE: await generousPlansFile(dir.path) }));
  const owner = keyFixture(bench, 'PRO', { account: 'samples' });
  const imports = importCalls(bench);
  const read = (name: string): Buffer => readFileSync(`${folder}/${name}`);

  for (const [name, { format, outcomes, messages = {}, links }] of Object.entries(samples)) {
    it(`imports ${name}, whose format is detected or named`, async () => {
      // Samples have the same codes.
      const domain = `${name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}.example`;
      const body = { domain, account: owner.account };
      const added = await bench.admin('POST', '/admin/domains', body);
      expect(added.status, added.text).to.equal(201);
      const query = `?domain=${domain}`;
      const dry = await imports.run(read(name), owner.key, `${query}&dryRun=1`);
      const { ended, rows } = await imports.run(read(name), owner.key, `${query}&format=${format}`);
      expect(dry.ended).to.include({ format, status: 'done' });
      expect(dry.rows).to.deep.equal(rows);
      expect(rows.map(({ row, code, outcome }) => [row, code, outcome])).to.deep.equal(outcomes);
      const found: Readonly<Record<string, string>> = Object.fromEntries(
        rows.flatMap(({ code, message }) =>
          message === null ? [] : [[code ?? '', message] as const],
        ),
      );
      expect(found).to.deep.equal(messages);
      const failed = rows.filter(({ outcome }) => outcome === 'invalid').length;
      const created = rows.length - failed;
      expect(ended).to.include({ status: 'done', rows: rows.length, created, failed });
      for (const [code, expected] of Object.entries(links)) {
        expect(await imports.details(code, owner.key, domain)).to.deep.include(expected);
      }
      const again = await imports.run(read(name), owner.key, query);
      expect(again.ended).to.include({ created: 0, existing: created, failed });
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
