import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { folderFixture } from '../support/fixtures.js';
import { generousPlansFile } from '../support/plans.js';
import { productFixture } from './harness.js';
import {
  expectBad,
  expectCsvFaults,
  importFile,
  join,
  linesWith,
  tenMegabytes,
} from './import-faults-harness.js';

describe('product: import files with bad rows', function () {
  this.timeout(180_000);
  const dir = folderFixture();
  const bench = productFixture(async () => ({ PLANS_FILE: await generousPlansFile(dir.path) }));

  it('imports the other rows of a CSV file, and reports each bad row with its line', () =>
    expectCsvFaults(bench, 20_000));

  it('imports the other rows of JSON Lines, and reports each bad row with its line', async () => {
    const good = Array.from({ length: 5_000 }, (_, index) =>
      JSON.stringify({ code: `json-${index}`, url: `https://example.com/${index}` }),
    );
    const url = '"url":"https://example.com/"';
    const { lines, expected } = linesWith(
      good,
      [
        [`{"code":"bad-quote,${url}}`, /not a JSON object/],
        [`{"code":"bad\\u0000nul",${url}}`, /cannot be stored: U\+0000/],
        [`{"code":"bad-size",${url},"title":"${tenMegabytes}"}`, /100,000 characters/],
        [`{"code":"bad-\\ud800",${url}}`, /half a surrogate pair/],
        [`{"code":"bad-title","title":"\\udc00",${url}}`, /half a surrogate pair/],
        [`{"code":"bad-type","url":7}`, /url/],
      ],
      1,
    );
    const cut = Buffer.from('{"code":"cut","url":"https://exam');
    const imported = await importFile(bench, 'format=linklog', Buffer.concat([join(lines), cut]));
    expectBad(imported, 5_000, new Map([...expected, [lines.length + 1, /not a JSON object/]]));
  });

  it('imports the other rows of a dump of YOURLS, and reports each bad row with its line', async () => {
    const columns = '(`keyword`, `url`, `title`, `timestamp`, `ip`, `clicks`)';
    const insert = (values: string): string =>
      `INSERT INTO \`yourls_url\` ${columns} VALUES (${values});`;
    const good = Array.from({ length: 5_000 }, (_, index) =>
      insert(`'sql-${index}','https://example.com/${index}','','2024-01-01 00:00:00','',0`),
    );
    const { lines, expected } = linesWith(
      good,
      [
        [insert(`'bad-quote','https://example.com/,'','2024-01-01 00:00:00','',0`), /./],
        [insert(`'bad\\0nul','https://example.com/','','2024-01-01 00:00:00','',0`), /code/],
        [
          insert(`'bad-size','https://example.com/','${tenMegabytes}','2024-01-01 00:00:00','',0`),
          /100000 characters/,
        ],
        [insert(`'bad-width','https://example.com/'`), /2 values for 6 columns/],
        [
          "INSERT INTO `yourls_log` (`click_time`, `shorturl`) VALUES ('2024-01-01 00:00:00','a\\0b');",
          /No link can have the code of the visit/,
        ],
      ],
      1,
    );
    const cut = Buffer.from(insert(`'cut','https://example.com/`).slice(0, -2));
    const imported = await importFile(
      bench,
      'format=yourls-sql&visits=1',
      Buffer.concat([join(lines), cut]),
    );
    expectBad(imported, 5_000, new Map([...expected, [lines.length + 1, /./]]));
  });

  it('imports the rows before the cut of a gzip file, and reports the cut', async () => {
    const rows = Array.from(
      { length: 5_000 },
      (_, index) => `gzip-${index},https://example.com/\n`,
    );
    const file = gzipSync(`code,url\n${rows.join('')}`);
    const imported = await importFile(bench, 'format=csv', file.subarray(0, file.length - 100));
    const { status, created, bad } = imported;
    expect({ status, failed: bad.length }).to.deep.equal({ status: 'done', failed: 1 });
    expect(bad[0]?.message).to.match(/gzip file is incomplete/);
    // The header is line 1; the line of the cut can have the start of a row.
    expect(bad[0]?.row).to.be.oneOf([created + 2, created + 3]);
    expect(created).to.be.above(1_000);
  });
});
