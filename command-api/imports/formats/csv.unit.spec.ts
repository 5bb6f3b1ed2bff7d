import { expect } from 'chai';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { cutText, failure, readRecords, toAsync } from '../../testing/import-files.js';
import { bitlyCsv, csv, csvReader, dubCsv, shlinkCsv, type CsvFormat } from './csv.js';
import { decodeFile } from './decode.js';
import { emptyLink } from './records.js';
import {
  ImportFileFault,
  maxRecordLength,
  type ReaderOptions,
  type SourceLink,
  type SourceRecord,
} from './source-record.js';

const readCsv = csvReader(csv);

const link = (row: number, fields: Partial<SourceLink>): SourceRecord => ({
  ...{ type: 'link', row },
  link: { ...emptyLink, ...fields },
});

const invalid = (
  row: number,
  message: string,
  { code = null, url = null }: { code?: string | null; url?: string | null } = {},
): SourceRecord => ({ ...{ type: 'invalid', row, code, url }, message });

const read = (
  text: string,
  format: CsvFormat = csv,
  options: Partial<ReaderOptions> = {},
): Promise<readonly SourceRecord[]> => readRecords(csvReader(format), text, options);

const links = async (text: string, format: CsvFormat = csv): Promise<readonly SourceLink[]> =>
  (await read(text, format)).map((record) => {
    if (record.type !== 'link') throw new Error(`row ${record.row} is ${record.type}`);
    return record.link;
  });

const codes = async (text: string): Promise<readonly (string | null)[]> =>
  (await read(text)).map((record) => (record.type === 'link' ? record.link.code : null));

const url = 'https://example.org/';

describe('imports: CSV', () => {
  it('reads the columns of a file with a header', async () => {
    const text =
      'Code,Long URL,title,Tags,note,created_at,expires at,maxClicks,clicks,domain,disabled\n' +
      `abc,${url},"A ""quoted""\r\ntitle","a, b,",n,2024-01-02 03:04:05,1780000000,5,7,Go.Example:443,1\n`;
    expect(await read(text, csv, { linkZone: 'Europe/Berlin' })).to.deep.equal([
      link(2, {
        ...{ code: 'abc', url, title: 'A "quoted"\r\ntitle', tags: ['a', 'b'], note: 'n' },
        ...{ createdAt: '2024-01-02T02:04:05.000Z', expiresAt: '2026-05-28T20:26:40.000Z' },
        ...{ maxClicks: 5, clicks: 7, domain: 'go.example', disabled: true },
      }),
    ]);
  });

  it('reads a file of Excel with semicolons and a byte order mark', async () => {
    const file = Buffer.from(`\ufeffshort;long\r\nabc;${url}\r\n"1E5";${url}e\r\n`);
    const records: SourceRecord[] = [];
    const text = decodeFile(toAsync([file]), { maxBytes: 1_000 });
    for await (const record of readCsv(text, { linkZone: 'UTC', visitZone: 'UTC' })) {
      records.push(record);
    }
    expect(records).to.deep.equal([
      link(2, { code: 'abc', url }),
      link(3, { code: '1E5', url: `${url}e` }),
    ]);
  });

  it('reads a file of windows-1252', async () => {
    const file = Buffer.from(`short,long\nk\xe4se,${url}latin1\n`, 'latin1');
    const records: SourceRecord[] = [];
    const text = decodeFile(toAsync([file]), { maxBytes: 1_000 });
    for await (const record of readCsv(text, { linkZone: 'UTC', visitZone: 'UTC' })) {
      records.push(record);
    }
    expect(records).to.deep.equal([link(2, { code: 'käse', url: `${url}latin1` })]);
  });

  it('reads the export of lstu, whose reserved codes have no URL', async () => {
    const text =
      'short,url,counter,timestamp,created_by,disabled\n' +
      'aBc-1,https://example.org/,5,1580515200,203.0.113.7,0\n' +
      'zz9,,0,,,0\n' +
      'spam,https://bad.example/,99,1580515201,,1\n';
    expect(await read(text)).to.deep.equal([
      link(2, { code: 'aBc-1', url, clicks: 5, createdAt: '2020-02-01T00:00:00.000Z' }),
      invalid(3, 'The row has no destination URL.', { code: 'zz9' }),
      link(4, {
        ...{ code: 'spam', url: 'https://bad.example/', clicks: 99, disabled: true },
        createdAt: '2020-02-01T00:00:01.000Z',
      }),
    ]);
  });

  it('reads two columns without a header, in either order and with any delimiter', async () => {
    for (const delimiter of [',', ';', '\t', ' ', '   ']) {
      const short = `https://old.test/abc${delimiter}https://example.org/?a=b`;
      const expected = [link(1, { code: 'abc', domain: 'old.test', url: `${url}?a=b` })];
      expect(await read(short)).to.deep.equal(expected);
      expect(await read(`abc${delimiter}${url}\n`)).to.deep.equal([link(1, { code: 'abc', url })]);
      expect(await read(`${url}${delimiter}/abc`)).to.deep.equal([link(1, { code: 'abc', url })]);
    }
  });

  it('takes the column with one host as the short links, if two columns have URLs', async () => {
    const text =
      'https://example.org/,https://old.test/a\n\nhttps://example.com/,https://old.test/b\n';
    expect(await read(text)).to.deep.equal([
      link(1, { code: 'a', domain: 'old.test', url }),
      link(3, { code: 'b', domain: 'old.test', url: 'https://example.com/' }),
    ]);
  });

  it('reads a code, a path, host and code, or a URL', async () => {
    const cells: readonly (readonly [cell: string, code: string, domain: string | null])[] = [
      ['abc', 'abc', null],
      ['/abc', 'abc', null],
      ['Go.Example/Abc', 'Abc', 'go.example'],
      ['localhost:8080/abc/', 'abc', 'localhost'],
      ['HTTPS://user@Go.Example:8443/%F0%9F%98%80?x=1#y', '😀', 'go.example'],
      ['https://go.example/docs/install', 'docs/install', 'go.example'],
      ['docs/install', 'docs/install', null],
      ['a.b', 'a.b', null],
      ['50%', '50%', null],
      [' abc ', 'abc', null],
      ['\u00a0abc', '\u00a0abc', null],
      ['https://[::1]:80/a', 'a', '[::1]'],
    ];
    for (const [cell, code, domain] of cells) {
      expect(await links(`code,url\n${cell},${url}`)).to.deep.equal([
        { ...emptyLink, code, domain, url },
      ]);
    }
    expect(await read(`code,url\nhttps://go.example/,${url}`)).to.deep.equal([
      invalid(2, 'The row has no code.', { url }),
    ]);
  });

  it('takes the domain from a second column with the short URL', async () => {
    const [first] = await links(`code,url,shortUrl\nabc,${url},https://go.example/abc\n`);
    expect(first).to.include({ code: 'abc', domain: 'go.example' });
  });

  it('uses the delimiter of a `sep=` line and counts the line', async () => {
    const text = `sep=;\r\ncode;url,x;title\r\nabc;${url};a,b\r\n`.replace('url,x', 'url');
    expect(await read(text)).to.deep.equal([link(3, { code: 'abc', url, title: 'a,b' })]);
    expect(await read(`sep=\t\nabc\t${url}`)).to.deep.equal([link(2, { code: 'abc', url })]);
  });

  it('reads files with CR as line end', async () => {
    expect(await read(`code,url\ra,${url}\r\rb,${url}\r`)).to.deep.equal([
      link(2, { code: 'a', url }),
      link(4, { code: 'b', url }),
    ]);
  });

  it('removes the formula guard of our export', async () => {
    const [first] = await links(`code,url,title,note\n'-a,${url},"'=1+1","''quoted'"\n`);
    expect(first).to.include({ code: '-a', title: '=1+1', note: "'quoted'" });
    const [second] = await links(`code,url,title,note\na,${url},'tis,"'\tx"\n`);
    expect(second).to.include({ title: "'tis", note: '\tx' });
  });

  it('reports unreadable values and imports the link', async () => {
    const text = `code,url,createdAt,clicks,maxClicks\nabc,${url},yesterday,many,-1\n`;
    expect(await read(text)).to.deep.equal([
      link(2, {
        ...{ code: 'abc', url },
        messages: [
          'The limit of clicks "-1" is not a whole number and was left out.',
          'The creation time "yesterday" cannot be read and was left out.',
          'The number of clicks "many" is not a whole number and was left out.',
        ],
      }),
    ]);
  });

  it('accepts rows without their last cells, and rejects rows with more cells', async () => {
    const text = `code,url,title\na,${url}\nb,${url},t,,\nc,${url},t,more\n,,\nd\n`;
    expect(await read(text)).to.deep.equal([
      link(2, { code: 'a', url }),
      link(3, { code: 'b', url, title: 't' }),
      invalid(4, 'The row has 4 cells instead of 3.'),
      invalid(6, 'The row has no destination URL.', { code: 'd' }),
    ]);
  });

  it('rejects characters that PostgreSQL cannot store', async () => {
    const message =
      'The row has a character that cannot be stored: U+0000 or half a surrogate pair.';
    const text = `code,url,title\na,${url},x\0\nb,${url},\ud83d\nc\0,${url},\nd,${url},😀\n`;
    expect(await read(text)).to.deep.equal([
      invalid(2, message, { code: 'a', url }),
      invalid(3, message, { code: 'b', url }),
      invalid(4, message, { code: 'c\ufffd', url }),
      link(5, { code: 'd', url, title: '😀' }),
    ]);
  });

  it('continues on the next line after an unclosed quote', async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) => `c${index},${url}\n`).join('');
    const records = await read(`code,url,title\nbad,${url},"unclosed\n${rows}`);
    expect(records).to.have.length(20_001);
    const longer = 'The record is longer than 100,000 characters.';
    expect(records[0]).to.deep.equal(invalid(2, longer));
    expect(records[1]).to.deep.equal(link(3, { code: 'c0', url }));
    expect(records.at(-1)).to.deep.equal(link(20_002, { code: 'c19999', url }));
  });

  it('continues on the next line after an unclosed quote at the end, and after a quote within text', async () => {
    const text = `code,url,title\na,${url},"x" y\nb,${url},he said "hi"\nc,${url}, "z" \nd,${url},"\n\ne,${url}\n`;
    expect(await read(text)).to.deep.equal([
      invalid(2, 'The record has text after a closing quote.'),
      link(3, { code: 'b', url, title: 'he said "hi"' }),
      link(4, { code: 'c', url, title: 'z' }),
      invalid(5, 'The record has a quote that is not closed.'),
      link(7, { code: 'e', url }),
    ]);
  });

  it('rejects a cell of 10 MB, quoted or not, and reads the next row', async () => {
    const long = 'x'.repeat(10_000_000);
    for (const cell of [long, `"${long}"`]) {
      const text = `code,url,title\na,${url},${cell}\nb,${url}\n`;
      const records = await readRecords(readCsv, cutText(text, 70_000));
      expect(records).to.deep.equal([
        invalid(2, 'The record is longer than 100,000 characters.'),
        link(3, { code: 'b', url }),
      ]);
    }
  });

  it('reads a record of exactly the longest length', async () => {
    const row = `a,${url},`;
    const title = 'x'.repeat(maxRecordLength - row.length - 1);
    const text = `code,url,title\n${row}${title}\n`;
    expect(await links(text)).to.deep.equal([{ ...emptyLink, code: 'a', url, title }]);
    expect(await codes(`code,url,title\n${row}${title}x\nb,${url}`)).to.deep.equal([null, 'b']);
  });

  it('fails if so many records are malformed that reading would take quadratic time', async function () {
    this.timeout(20_000);
    // From each line, all following lines are cells of one record.
    const text = `code,url\n${'a","b\n'.repeat(200_000)}`;
    const fault = await failure(() => read(text));
    expect(fault).to.be.instanceOf(ImportFileFault);
    expect(fault).to.have.property('message', 'The file has too many malformed records.');
  });

  it('reads a header alone as no records', async () => {
    for (const text of ['code,url', 'code,url\n', '\n\ncode;url\n\n', 'sep=,\ncode,url']) {
      expect(await read(text)).to.deep.equal([]);
    }
  });

  it('rejects files without a URL and a code, and headers with a column twice', async () => {
    const messages: readonly (readonly [text: string, message: string])[] = [
      ['', 'The file is empty.'],
      ['\n \n', 'The file is empty.'],
      [
        'Short Link,Long Dynamic Link,Name\n',
        'The file is no CSV: no columns for the code and for the URL. ' +
          'Its first record is "Short Link", "Long Dynamic Link", "Name".',
      ],
      [
        '__proto__,url\n1,2\n',
        'The file is no CSV: no columns for the code and for the URL. Its first record is "__proto__", "url".',
      ],
      [`code,URL,url\na,${url},${url}\n`, 'The header has "url" twice.'],
    ];
    for (const [text, message] of messages) {
      const fault = await failure(() => read(text));
      expect(fault).to.be.instanceOf(ImportFileFault);
      expect(fault).to.have.property('message', message);
    }
  });

  it('ignores other columns, also with the names of object properties', async () => {
    const text = `__proto__,code,constructor,url,x,x\n1,abc,2,${url},3,4\n`;
    expect(await read(text)).to.deep.equal([link(2, { code: 'abc', url })]);
  });

  it('returns the records before a fault of the file', async () => {
    const source = (async function* () {
      yield `code,url\na,${url}\nb,https://exa`;
      await Promise.resolve();
      throw new ImportFileFault('The gzip file is incomplete or damaged.');
    })();
    const records: SourceRecord[] = [];
    const fault = await failure(async () => {
      const zones = { linkZone: 'UTC', visitZone: 'UTC' };
      for await (const record of readCsv(source, zones)) records.push(record);
    });
    expect(fault).to.have.property('message', 'The gzip file is incomplete or damaged.');
    expect(records).to.deep.equal([link(2, { code: 'a', url })]);
  });
});

describe('imports: CSV of other services', () => {
  it('reads the export of the web client of Shlink', async () => {
    const text =
      '"createdAt","domain","shortCode","shortUrl","longUrl","title","tags","visits"\n' +
      '"2024-08-15T15:03:56-04:00","s.test","9r2TW","https://s.test/9r2TW","https://example.com/a?x=1,2","He said ""hi""","news|2024",61\n' +
      '"2024-08-16T00:00:00+02:00","s.test","%F0%9F%98%80","https://s.test/%F0%9F%98%80","https://example.com/emoji","","",0\n' +
      '"2024-08-16T00:00:01+02:00","b.test","docs/install","https://b.test/docs/install","mailto:a@example.com","=1+1","",3\n';
    expect(await read(text, shlinkCsv)).to.deep.equal([
      link(2, {
        ...{ code: '9r2TW', domain: 's.test', url: 'https://example.com/a?x=1,2' },
        ...{ title: 'He said "hi"', tags: ['news', '2024'], clicks: 61 },
        createdAt: '2024-08-15T19:03:56.000Z',
      }),
      link(3, {
        ...{ code: '😀', domain: 's.test', url: 'https://example.com/emoji' },
        createdAt: '2024-08-15T22:00:00.000Z',
      }),
      link(4, {
        ...{ code: 'docs/install', domain: 'b.test', url: 'mailto:a@example.com' },
        ...{ title: '=1+1', clicks: 3, createdAt: '2024-08-15T22:00:01.000Z' },
      }),
    ]);
  });

  it('reads exports of old web clients of Shlink, without codes and domains', async () => {
    const text = `"createdAt","shortUrl","longUrl","title","tags","visits"\n"2024-08-16T00:00:01Z","https://s.test/a",${url},"","x",3\n`;
    const [first] = await links(text, shlinkCsv);
    expect(first).to.include({ code: 'a', domain: 's.test', clicks: 3 });
  });

  it('reads the export of Bitly, with dates of the USA', async () => {
    const text =
      'Link,Custom Link,Destination URL,Title,Created,Engagements\n' +
      'https://bit.ly/3aBcDeF,https://go.brand.test/Sale,https://shop.example/?a=1&b=2,Sale,10/26/2020,1204\n' +
      'https://bit.ly/3aBcDeG,,https://shop.example/,,2020-10-27T00:00:00+0000,\n';
    expect(await read(text, bitlyCsv)).to.deep.equal([
      link(2, {
        ...{ code: 'Sale', domain: 'go.brand.test', url: 'https://shop.example/?a=1&b=2' },
        ...{ title: 'Sale', createdAt: '2020-10-26T00:00:00.000Z', clicks: 1_204 },
      }),
      link(3, {
        ...{ code: '3aBcDeG', domain: 'bit.ly', url: 'https://shop.example/' },
        createdAt: '2020-10-27T00:00:00.000Z',
      }),
    ]);
  });

  it('reads the export of Dub, with its formula guard and archived links', async () => {
    const text =
      'Short link,Destination URL,Clicks,Created at,Updated at,Tags,Archived\n' +
      'https://go.brand.test/sale,https://shop.example/?a=1,882,2024-09-02T18:49:56.136Z,2025-01-13T22:46:22.152Z,"q4, mail",Yes\n' +
      "https://go.brand.test/f,https://shop.example/,0,2024-09-02T18:49:57.000Z,2024-09-02T18:49:57.000Z,'=cmd,No\n";
    expect(await read(text, dubCsv)).to.deep.equal([
      link(2, {
        ...{ code: 'sale', domain: 'go.brand.test', url: 'https://shop.example/?a=1' },
        ...{ tags: ['q4', 'mail', 'archived'], clicks: 882 },
        createdAt: '2024-09-02T18:49:56.136Z',
      }),
      link(3, {
        ...{ code: 'f', domain: 'go.brand.test', url: 'https://shop.example/', tags: ['=cmd'] },
        createdAt: '2024-09-02T18:49:57.000Z',
      }),
    ]);
  });
});

describe('imports: CSV, properties', () => {
  const cell = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom('"', '\n', '\r\n', '\r', 'a"b', '=1', "'x", ' ', ',', ';', '\t', '😀'),
  );
  const tricky = fc
    .array(fc.constantFrom('"', ',', '\n', '\r', ' ', 'a', url, ';', '\t', '\0', "'", '\ud83d'))
    .map((parts) => parts.join(''));

  it('reads the same records from any chunks', async () => {
    const text = fc.oneof(
      tricky,
      tricky.map((rest) => `code,url,title\n${rest}`),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (file, size) => {
        const whole = await read(file).catch((error: unknown) => error);
        const parts = await readRecords(readCsv, cutText(file, size)).catch(
          (error: unknown) => error,
        );
        if (whole instanceof Error) {
          expect(whole).to.be.instanceOf(ImportFileFault);
          expect(parts).to.have.property('message', whole.message);
        } else expect(parts).to.deep.equal(whole);
      }),
    );
  });

  it('reads the same records from chunks that cut records of a longer file', async () => {
    const title = 'x'.repeat(200);
    const rows = Array.from(
      { length: 1_000 },
      (_, index) => `"c${index}",${url},"a\r\n${title}"\r\n`,
    );
    const file = `code,url,title\r\n${rows.join('')}`;
    const whole = await read(file);
    expect(whole).to.have.length(1_000);
    expect(whole.at(-1)).to.have.property('row', 2_000);
    for (const size of [1_000, 65_535, 65_536, 65_537]) {
      const cut = await readRecords(readCsv, cutText(file, size));
      expect(JSON.stringify(cut)).to.equal(JSON.stringify(whole));
    }
  });

  it('reads what a CSV writer writes', async () => {
    const row = fc.record({ title: cell, note: cell, tags: fc.constantFrom('', 'a,b') });
    const delimiters = fc.constantFrom(',', ';', '\t');
    const lineEnds = fc.constantFrom('\n', '\r\n', '\r');
    await fc.assert(
      fc.asyncProperty(
        ...([fc.array(row, { maxLength: 5 }), delimiters, lineEnds] as const),
        async (rows, delimiter, lineEnd) => {
          const guard = (text: string): string => (/^[=+\-@'\t\r]/.test(text) ? `'${text}` : text);
          const text = stringify(
            [
              ['code', 'url', 'title', 'note', 'tags'],
              ...rows.map(({ title, note, tags }) => ['c', url, guard(title), guard(note), tags]),
            ],
            // The writer quotes CR and leading spaces only if it quotes each cell.
            { delimiter, record_delimiter: lineEnd, quoted: true },
          );
          const expected = rows.map(({ title, note, tags }) => ({
            ...{ ...emptyLink, code: 'c', url, title: title || null, note: note || null },
            tags: tags === '' ? [] : ['a', 'b'],
          }));
          expect(await links(text)).to.deep.equal(expected);
        },
      ),
    );
  });
});
