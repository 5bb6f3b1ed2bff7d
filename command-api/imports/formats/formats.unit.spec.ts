import { expect } from 'chai';
import fc from 'fast-check';
import { expectSameFromChunks, readRecords } from '../../testing/import-files.js';
import type { ImportFormat } from '../../../schemas/http/imports.js';
import { detectFormat, readers } from './formats.js';
import { ImportFileFault, maxRecordLength } from './records.js';
import { codePoint } from '../../../schemas/testing/code-point.js';

/** The start of files of each format, and of files of other services. */
const heads: readonly (readonly [name: string, head: string, format: ImportFormat | null])[] = [
  ['generic CSV', 'Code;Long_URL\nabc;https://example.org/\n', 'csv'],
  ['CSV with a `sep=` line', 'sep=;\r\nshort;long\r\n', 'csv'],
  ['two columns without header', 'https://old.test/abc https://example.org/\n', 'csv'],
  ['lstu', 'short,url,counter,timestamp,created_by,disabled\n', 'csv'],
  [
    'short URLs of Shlink',
    '"createdAt","domain","shortCode","shortUrl","longUrl","title","tags","visits"\n',
    'shlink-csv',
  ],
  [
    'short URLs of old Shlink',
    '"createdAt","shortUrl","longUrl","title","tags","visits"\n',
    'shlink-csv',
  ],
  ['pages of Bitly', 'Link,Custom Link,Destination URL,Title,Created,Engagements\n', 'bitly-csv'],
  ['Dub', 'Short link,Destination URL,Clicks,Created at,Updated at,Tags,Archived\n', 'dub-csv'],
  ['Dub with its default columns', 'Short link,Destination URL,Clicks,Created at\n', 'dub-csv'],
  ['old pages of Bitly', 'Bitlink,Long URL,Title,Tags,Created,Total Clicks\n', 'bitly-csv'],
  // All names are those of `csv`, whatever they resemble.
  ...[
    'Short URL,Long URL,Visits,Expires At,Max Clicks,Disabled,Note',
    'Created At,Short URL,Long URL,Title,Tags,Visits',
    'createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits,expiresAt',
    'createdAt,shortUrl,longUrl,title,tags,visits,Owner',
    'Short link,Destination URL,Clicks,Created at,Expires at',
    'Short Link,Destination URL,Tags,Archived',
    'Link,Destination URL,Title,Created,Tags',
  ].map((header) => [header, `${header}\n`, 'csv'] as const),
  ['our JSON Lines', '{"domain":null,"code":"a","alias":null,"url":"b"}\n', 'linklog'],
  [
    'API of Kutt',
    '{"total":2,"limit":50,"skip":0,"data":[\n{"address":"a","target":"b"}',
    'kutt-json',
  ],
  [
    'API of Bitly',
    '{"links":[{"id":"bit.ly/3","long_url":"https://shop.example/"}],"pagination":{}}',
    'bitly-json',
  ],
  [
    'YOURLS, whose log is first',
    '-- MySQL dump 10.19\n/*!40101 SET NAMES utf8mb4 */;\nDROP TABLE IF EXISTS `yourls_log`;\nCREATE TABLE `yourls_log` (\n',
    'yourls-sql',
  ],
  ['rows of YOURLS', "INSERT INTO your_url (keyword, url) VALUES ('a','b');", 'yourls-sql'],
  [
    'Polr',
    "INSERT INTO `links` (`id`,`short_url`,`long_url`) VALUES (1,'0','https://a.example/')",
    null,
  ],
  ['Chhoto', '[{"shortlink":"a","longlink":"https://example.org/","hits":12}]', null],
  [
    'Rebrandly',
    '[{"id":"f","title":"Burn","slashtag":"b","destination":"https://www.example/x"}]',
    null,
  ],
  ['Short.io', '{"links":[{"id":"l","path":"sale","originalURL":"https://shop.example/"}]}', null],
  ['Firebase', 'Short Link,Long Dynamic Link,Name\n', null],
  ['an empty listing', '{"links":[]}', null],
  ['text', 'This is a text, not a list of links.\n', null],
  ['an empty file', '', null],
];

describe('imports: formats', () => {
  for (const [name, head, format] of heads) {
    it(`detects ${name} as ${format}`, () => {
      expect(detectFormat(head)).to.equal(format);
      if (!head.startsWith('sep=')) expect(detectFormat(`\n${head}`)).to.equal(format);
    });
  }

  // Exponential or cubic time would exceed the timeout. The readers' own specs bound the rescans of malformed records.
  it('are detected and read in a time that hostile texts do not prolong', async () => {
    for (const part of ['},{', 'a","b\n', '{"a":', '.a', ':1', '\n', ' ', '"', '/', '1', "'"]) {
      const text = part.repeat(30_000 / part.length);
      expect(() => detectFormat(text)).not.to.throw();
      expect(() => detectFormat(`[${text}`)).not.to.throw();
      if (part.length > 2) continue;
      const header = `code,url,createdat\n${text},a,${text}`;
      for (const [reader, file] of [
        [readers.csv, header],
        [readers['kutt-json'], `[${text}`],
      ] as const) {
        await readRecords(reader, file).catch((error: unknown) => {
          expect(error).to.be.instanceOf(ImportFileFault);
        });
      }
    }
  });

  const url = 'https://example.org/';
  const kutt = (address: string): string => JSON.stringify({ address, target: url });

  it('are read equally in any chunks, or have the same fault', async () => {
    const csvParts = ['"', ',', '\n', '\r', ' ', 'a', url, ';', '\t', '\0', "'", '\ud83d'];
    const jsonParts = ['{', '}', '[', ']', ',', '"', '\\', '\n', ' ', ':', 'a', '{"data":['];
    for (const [reader, heads, parts] of [
      [readers.csv, ['', 'code,url,title\n'], csvParts],
      [readers['kutt-json'], ['', '[', '{"total":1,"data":['], [...jsonParts, kutt('x')]],
    ] as const) {
      const rest = fc.array(fc.constantFrom(...parts)).map((list) => list.join(''));
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...heads),
          rest,
          fc.integer({ min: 1, max: 7 }),
          (...args) => expectSameFromChunks(reader, args[0] + args[1], args[2]),
        ),
        { numRuns: 40 },
      );
    }
  });

  it('throws nothing but faults for any text, and returns bounded records', async () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: codePoint }),
      fc.tuple(fc.constantFrom(...heads), fc.string()).map(([[, head], rest]) => head + rest),
      fc.json().map((json) => `[${json},{"address":"a","target":"b"}]`),
    );
    await fc.assert(
      fc.asyncProperty(text, async (file) => {
        detectFormat(file);
        for (const reader of Object.values(readers)) {
          const records = await readRecords(reader, file).catch((error: unknown) => error);
          if (records instanceof Error) expect(records).to.be.instanceOf(ImportFileFault);
          else expect(JSON.stringify(records).length).to.be.below(maxRecordLength);
        }
      }),
      { numRuns: 30 },
    );
  });
});
