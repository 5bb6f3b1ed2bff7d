import { expect } from 'chai';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import {
  cutText,
  expectFault,
  invalidRecord as invalid,
  linkRecord as link,
  readRecords,
  utc,
} from '../../testing/import-files.js';
import { optionNames, type LinkOptions, type OptionName } from '../../../schemas/link-options.js';
import { bitlyCsv, csv, csvReader, dubCsv, shlinkCsv, type CsvFormat } from './csv.js';
import {
  emptyLink,
  ImportFileFault,
  maxRecordLength,
  type ReaderOptions,
  type SourceLink,
  type SourceRecord,
} from './records.js';

const readCsv = csvReader(csv);
const url = 'https://example.org/';

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

  it('reads the export of lstu, whose reserved codes have no URL', async () => {
    const text =
      'short,url,counter,timestamp,created_by,disabled\n' +
      `aBc-1,${url},5,1580515200,203.0.113.7,0\nzz9,,0,,,0\nspam,${url}s,99,,,1\n`;
    expect(await read(text)).to.deep.equal([
      link(2, { code: 'aBc-1', url, clicks: 5, createdAt: '2020-02-01T00:00:00.000Z' }),
      invalid(3, 'The row has no destination URL.', { code: 'zz9' }),
      link(4, { code: 'spam', url: `${url}s`, clicks: 99, disabled: true }),
    ]);
  });

  it('reads two columns without a header, in either order and with any delimiter', async () => {
    const expected = [link(1, { code: 'abc', url })];
    for (const delimiter of [',', ';', '\t', ' ', '   ']) {
      expect(await read(`abc${delimiter}${url}\n`)).to.deep.equal(expected);
      expect(await read(`${url}${delimiter}/abc`)).to.deep.equal(expected);
      const short = [link(1, { code: 'abc', domain: 'old.test', url: `${url}?a=b` })];
      expect(await read(`https://old.test/abc${delimiter}${url}?a=b`)).to.deep.equal(short);
    }
  });

  it('takes the column with one host as the short links, if two columns have URLs', async () => {
    const text = `${url},https://old.test/a\n\nhttps://example.com/,https://old.test/b\n`;
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
      ['a.b', 'a.b', null],
      [' abc ', 'abc', null],
      ['\u00a0abc', '\u00a0abc', null],
      ['https://[::1]:80/a', 'a', '[::1]'],
    ];
    const text = cells.map(([cell]) => `${cell},${url}\n`).join('');
    expect(await links(`code,url\n${text}`)).to.deep.equal(
      cells.map(([, code, domain]) => ({ ...emptyLink, code, domain, url })),
    );
    const root = await read(`code,url\nhttps://go.example/,${url}`);
    expect(root).to.deep.equal([invalid(2, 'The row has no code.', { url })]);
    const [first] = await links(`code,url,shortUrl\nabc,${url},https://go.example/abc\n`);
    expect(first).to.include({ code: 'abc', domain: 'go.example' });
  });

  it('uses the delimiter of a `sep=` line and counts the line', async () => {
    const text = `sep=;\r\ncode;url;title\r\nabc;${url};a,b\r\n`;
    expect(await read(text)).to.deep.equal([link(3, { code: 'abc', url, title: 'a,b' })]);
    expect(await read(`sep=\t\nabc\t${url}`)).to.deep.equal([link(2, { code: 'abc', url })]);
  });

  it('removes the formula guard of our export', async () => {
    const rows = `'-a,${url},"'=1+1","''quoted'"\na,${url},'tis,"'\tx"\n`;
    const [first, second] = await links(`code,url,title,note\n${rows}`);
    expect(first).to.include({ code: '-a', title: '=1+1', note: "'quoted'" });
    expect(second).to.include({ title: "'tis", note: '\tx' });
  });

  it('leaves out values that cannot be read and do not restrict the link, with a message', async () => {
    const text = `code,url,Created At,clicks,forward_query\nabc,${url},yesterday,many,perhaps\n`;
    const messages = [
      'The value "yesterday" of "Created At" is not a time. It was left out.',
      'The value "many" of "clicks" is not a whole number. It was left out.',
      'The value "perhaps" of "forward_query" is not true or false. It was left out.',
    ];
    expect(await read(text)).to.deep.equal([link(2, { code: 'abc', url, messages })]);
  });

  it('rejects a value that cannot be read and restricts the link, and names its column', async () => {
    const limit = 'a whole number from 1 to 1,000,000,000';
    const faults: readonly (readonly [column: string, kind: string, ...values: string[]])[] = [
      ['Expires At', 'a time', 'soon', '0', '45658', '31/12/2030', '0000-00-00 00:00:00'],
      ['startsAt', 'a time', '2030-02-30'],
      ['max_clicks', limit, '0', '-1', '1.5', '1000000001', '1E+06', 'none', '9'.repeat(16)],
      ...['disabled', 'ARCHIVED', 'hasPassword'].map((column) => {
        return [column, 'true or false', '2', '-', 'perhaps', '#NAME?', 'null'] as const;
      }),
    ];
    for (const format of [csv, shlinkCsv, bitlyCsv, dubCsv]) {
      for (const [column, kind, ...values] of faults) {
        for (const value of format === csv ? values : values.slice(0, 1)) {
          const message = `The value "${value}" of "${column}" is not ${kind}.`;
          expect(
            await read(
              `Short Link,Destination URL,${column}\nhttps://a.test/a,${url},${value}`,
              format,
            ),
          ).to.deep.equal([invalid(2, message, { code: 'a', url })]);
        }
      }
    }
  });

  it('reads a short URL without a scheme in any column, also beside its domain', async () => {
    for (const [header, row, code, domain] of [
      ['shortUrl,domain', 'GO.example/rb2,go.example', 'rb2', 'go.example'],
      ['slug,domain', 'Go.Example:8443/rb2/?x=1,HTTPS://Go.Example/', 'rb2', 'go.example'],
      ['link,domain', 'old.example/rb2,new.example', 'rb2', 'new.example'],
      ['link,code,domain', 'go.example/rb2,other,', 'other', 'go.example'],
      ['slug,domain', 'v1.0/rb2,go.example', 'v1.0/rb2', 'go.example'],
      ['code,domain', 'localhost/rb2,localhost:8080', 'rb2', 'localhost'],
    ] as const) {
      const [first] = await links(`${header},url\n${row},${url}`);
      expect(first).to.include({ code, domain });
    }
  });

  it('reads each option as an export writes it, and refuses a row with an invalid one', async () => {
    const options: LinkOptions = {
      rules: [{ name: 'a', when: { query: { b: null } }, url: 'https://example.org/a' }],
      ...{ forwardQuery: true, redirectStatus: 307, expiredUrl: 'https://example.org/x,"y"' },
      ...{ forwardPath: true, card: { title: '1', image: 'https://example.org/i' } },
    };
    const cellOf = (name: OptionName): string => {
      const value = options[name];
      return typeof value === 'object' ? JSON.stringify(value) : String(value);
    };
    const head = ['code', 'url', ...optionNames];
    const row = ['a', url, ...optionNames.map(cellOf)];
    expect((await links(stringify([head, row])))[0]?.options).to.deep.equal(options);
    // A spreadsheet in German wrote these.
    const excel = 'code;url;forwardQuery;redirectStatus\na;https://example.org/;WAHR;307\n';
    expect((await links(excel))[0]?.options).to.deep.equal({
      ...{ forwardQuery: true, redirectStatus: 307 },
    });
    const deep = '['.repeat(40_000);
    for (const [name, cell] of [
      ...[['rules', deep] as const, ['rules', deep + ']'.repeat(40_000)] as const],
      ...[['redirectStatus', '304'] as const, ['card', 'Sale'] as const],
      ['expiredUrl', 'example.org'] as const,
    ]) {
      const [record] = await read(
        stringify([
          ['code', 'url', name],
          ['a', url, cell],
        ]),
      );
      expect(record)
        .to.have.property('message')
        .that.matches(/^An option is not valid: /);
    }
  });

  it('reports the names of columns that it does not read', async () => {
    const ignored = async (text: string): Promise<readonly string[]> => {
      const calls: (readonly string[])[] = [];
      await read(text, csv, { onIgnoredColumns: (names) => calls.push(names) });
      expect(calls).to.have.length(1);
      return calls.flat();
    };
    const text = `\n Owner ,code,rules,,__proto__,url,alias,constructor\no,a,[],x,1,${url},,2\n`;
    expect(await ignored(text)).to.deep.equal([' Owner ', '__proto__', 'constructor']);
    expect(await ignored(`a,${url}\n`)).to.deep.equal([]);
  });

  it('rejects a record with a byte that is not valid in its encoding, also in ignored columns', async () => {
    const message = 'The row has the byte 0xE4, which is not valid in the encoding of the file.';
    const text = `code,url,Owner\na,${url},k\udce4se\nk\udce4se,${url},\nb,${url},ä\n`;
    expect(await read(text)).to.deep.equal([
      invalid(2, message, { code: 'a', url }),
      invalid(3, message, { code: 'k?se', url }),
      link(4, { code: 'b', url }),
    ]);
  });

  it('rejects a header with more than 200 columns', async () => {
    const header = (columns: number): string =>
      ['code', 'url', ...Array.from({ length: columns - 2 }, (_, index) => `c${index}`)].join();
    expect(await read(`${header(200)}\na,${url}`)).to.deep.equal([link(2, { code: 'a', url })]);
    const message = 'The header has more than 200 columns.';
    for (const columns of [201, 29_000]) {
      await expectFault(read(`${header(columns)}\na,${url}`), message);
    }
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
      invalid(4, message, { code: 'c?', url }),
      link(5, { code: 'd', url, title: '😀' }),
    ]);
  });

  const tooLong = 'The record is longer than 100,000 characters.';

  it('continues on the next line after an unclosed quote, and after a quote within text', async () => {
    const text = `code,url,title\na,${url},"x" y\nb,${url},he said "hi"\nc,${url}, "z" \nd,${url},"\n\ne,${url}\n`;
    expect(await read(text)).to.deep.equal([
      invalid(2, 'The record has text after a closing quote.'),
      link(3, { code: 'b', url, title: 'he said "hi"' }),
      link(4, { code: 'c', url, title: 'z' }),
      invalid(5, 'The record has a quote that is not closed.'),
      link(7, { code: 'e', url }),
    ]);
    const rows = Array.from({ length: 4_000 }, (_, index) => `c${index},${url}\n`).join('');
    const records = await read(`code,url,title\nbad,${url},"unclosed\n${rows}`);
    expect(records).to.have.length(4_001);
    expect(records[0]).to.deep.equal(invalid(2, tooLong));
    expect(records.at(-1)).to.deep.equal(link(4_002, { code: 'c3999', url }));
  });

  it('rejects a cell that is too long, quoted or not, and reads the next row', async () => {
    const long = 'x'.repeat(1_000_000);
    for (const cell of [long, `"${long}"`]) {
      const text = `code,url,title\na,${url},${cell}\nb,${url}\n`;
      const records = await readRecords(readCsv, cutText(text, 70_000));
      expect(records).to.deep.equal([invalid(2, tooLong), link(3, { code: 'b', url })]);
    }
  });

  it('reads a record of exactly the longest length', async () => {
    const row = `a,${url},`;
    const title = 'x'.repeat(maxRecordLength - row.length - 1);
    const [longest] = await read(`code,url,title\n${row}${title}\n`);
    expect(longest).to.deep.equal(link(2, { code: 'a', url, title }));
    const longer = await read(`code,url,title\n${row}${title}x\nb,${url}`);
    expect(longer.map(({ type }) => type)).to.deep.equal(['invalid', 'link']);
  });

  it('fails if so many records are malformed that reading would take quadratic time', async () => {
    // From each line, all following lines are cells of one record.
    const text = `code,url\n${'a","b\n'.repeat(60_000)}`;
    await expectFault(read(text), 'The file has too many malformed records.');
  });

  it('reads a header alone as no records', async () => {
    for (const text of ['code,url', 'code,url\n', '\n\ncode;url\n\n', 'sep=,\ncode,url']) {
      expect(await read(text)).to.deep.equal([]);
    }
  });

  it('rejects files without a URL and a code, and headers with a column twice', async () => {
    const noColumns = 'The file is no CSV: no columns for the code and for the URL. ';
    for (const [text, message] of [
      ['', 'The file is empty.'],
      ['\n \n', 'The file is empty.'],
      ['__proto__,url\n1,2\n', `${noColumns}Its first record is "__proto__", "url".`],
      [
        'Short Link,Long Dynamic Link,Name\n',
        `${noColumns}Its first record is "Short Link", "Long Dynamic Link", "Name".`,
      ],
      [`code,URL,url\na,${url},${url}\n`, 'The header has "url" twice.'],
    ] as const) {
      await expectFault(read(text), message);
    }
  });

  it('returns the records before a fault of the file', async () => {
    const message = 'The gzip file is incomplete or damaged.';
    const head = `code,url\na,${url}\nb,https://exa`;
    const source = (async function* () {
      yield head;
      await Promise.resolve();
      throw new ImportFileFault(message);
    })();
    const records: SourceRecord[] = [];
    const reading = async () => {
      for await (const record of readCsv({ head, text: source }, utc)) records.push(record);
    };
    await expectFault(reading(), message);
    expect(records).to.deep.equal([link(2, { code: 'a', url })]);
  });
});

describe('imports: CSV of other services', () => {
  it('reads exports of the web client of Shlink, new and old', async () => {
    const text =
      '"createdAt","domain","shortCode","shortUrl","longUrl","title","tags","visits"\n' +
      '"2024-08-15T15:03:56-04:00","s.test","9r2TW","https://s.test/9r2TW","https://a.test/?x=1,2","He said ""hi""","news|2024",61\n' +
      '"2024-08-16T00:00:00+02:00","s.test","%F0%9F%98%80","https://s.test/%F0%9F%98%80","mailto:a@a.test","=1+1","",0\n';
    expect(await read(text, shlinkCsv)).to.deep.equal([
      link(2, {
        ...{ code: '9r2TW', domain: 's.test', url: 'https://a.test/?x=1,2', clicks: 61 },
        ...{ title: 'He said "hi"', tags: ['news', '2024'] },
        createdAt: '2024-08-15T19:03:56.000Z',
      }),
      link(3, {
        ...{ code: '😀', domain: 's.test', url: 'mailto:a@a.test', title: '=1+1' },
        createdAt: '2024-08-15T22:00:00.000Z',
      }),
    ]);
    const old = `"createdAt","shortUrl","longUrl","title","tags","visits"\n"2024-08-16T00:00:01Z","https://s.test/a",${url},"","x",3\n`;
    const [first] = await links(old, shlinkCsv);
    expect(first).to.include({ code: 'a', domain: 's.test', clicks: 3 });
  });

  it('reads the export of Bitly, with dates of the USA', async () => {
    const text =
      'Link,Custom Link,Destination URL,Title,Created,Engagements\n' +
      `https://bit.ly/3aBcDeF,https://go.test/Sale,${url}?a=1&b=2,Sale,10/26/2020,1204\n` +
      `https://bit.ly/3aBcDeG,,${url},,2020-10-27T00:00:00+0000,\n`;
    expect(await read(text, bitlyCsv)).to.deep.equal([
      link(2, {
        ...{ code: 'Sale', domain: 'go.test', url: `${url}?a=1&b=2`, title: 'Sale' },
        ...{ createdAt: '2020-10-26T00:00:00.000Z', clicks: 1_204 },
      }),
      link(3, { code: '3aBcDeG', domain: 'bit.ly', url, createdAt: '2020-10-27T00:00:00.000Z' }),
    ]);
  });

  it('reads the export of Dub, with its formula guard and archived links', async () => {
    const time = '2024-09-02T18:49:56.136Z';
    const text =
      'Short link,Destination URL,Clicks,Created at,Updated at,Tags,Archived\n' +
      `https://go.test/sale,${url},882,${time},2025-01-13T22:46:22.152Z,"q4, mail",Yes\n` +
      `https://go.test/f,${url},0,${time},${time},'=cmd,No\n`;
    const sale = { code: 'sale', tags: ['q4', 'mail', 'archived'], clicks: 882 };
    expect(await read(text, dubCsv)).to.deep.equal([
      link(2, { ...sale, domain: 'go.test', url, createdAt: time }),
      link(3, { code: 'f', tags: ['=cmd'], domain: 'go.test', url, createdAt: time }),
    ]);
  });
});

describe('imports: CSV, properties', () => {
  it('reads what a CSV writer writes', async () => {
    const special = ['"', '\n', '\r\n', '\r', 'a"b', '=1', "'x", ' ', ',', ';', '\t', '😀'];
    const cell = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom(...special));
    const rows = fc.array(
      fc.record({ title: cell, note: cell, tags: fc.constantFrom('', 'a,b') }),
      { maxLength: 5 },
    );
    const delimiters = fc.constantFrom(',', ';', '\t');
    const lineEnds = fc.constantFrom('\n', '\r\n', '\r');
    const guard = (text: string): string => (/^[=+\-@'\t\r]/.test(text) ? `'${text}` : text);
    await fc.assert(
      fc.asyncProperty(rows, delimiters, lineEnds, async (written, delimiter, lineEnd) => {
        const table = written.map(({ title, note, tags }) => [
          ...['c', url, guard(title), guard(note), tags],
        ]);
        // The writer quotes CR and leading spaces only if it quotes each cell.
        const options = { delimiter, record_delimiter: lineEnd, quoted: true };
        const text = stringify([['code', 'url', 'title', 'note', 'tags'], ...table], options);
        const expected = written.map(({ title, note, tags }) => ({
          ...{ ...emptyLink, code: 'c', url, title: title || null, note: note || null },
          tags: tags === '' ? [] : ['a', 'b'],
        }));
        expect(await links(text)).to.deep.equal(expected);
      }),
      { numRuns: 30 },
    );
  });
});
