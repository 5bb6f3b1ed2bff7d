import { expect } from 'chai';
import fc from 'fast-check';
import { cutText, failure, readRecords } from '../../testing/import-files.js';
import { readBitlyJson, readKuttJson, readLinklog } from './json.js';
import { emptyLink } from './records.js';
import { ImportFileFault, type SourceLink, type SourceRecord } from './source-record.js';

const url = 'https://example.org/';

const link = (row: number, fields: Partial<SourceLink>): SourceRecord => ({
  ...{ type: 'link', row },
  link: { ...emptyLink, ...fields },
});

const invalid = (
  row: number,
  message: string,
  { code = null, url = null }: { code?: string | null; url?: string | null } = {},
): SourceRecord => ({ ...{ type: 'invalid', row, code, url }, message });

const malformed = 'The record is not a JSON object.';
const unended = 'The record does not end within 100,000 characters.';

const kutt = (address: string): string => JSON.stringify({ address, target: url });

const read = (text: string): Promise<readonly SourceRecord[]> => readRecords(readKuttJson, text);

const codes = async (text: string): Promise<readonly (string | null)[]> =>
  (await read(text)).map((record) => (record.type === 'link' ? record.link.code : null));

describe('imports: JSON of Kutt', () => {
  const listing = `{"total":2,"limit":50,"skip":0,"data":[
{"address":"Ab3xYz","banned":false,"created_at":"2025-01-02T03:04:05.000Z","updated_at":"2025-01-02T03:04:05.000Z","password":true,"description":"Spring","expire_in":"2026-12-31 23:00:00","target":"https://example.com/spring","visit_count":41,"domain":null,"id":"7b0e7a52-2f0c-4c0e-9f1c-0a8c7f3e9d11","link":"https://kutt.test/Ab3xYz"},
{"address":"x_y-z","banned":true,"created_at":"2025-01-02T03:04:06.000Z","updated_at":"2025-01-02T03:04:06.000Z","password":false,"description":null,"expire_in":null,"target":"magnet:?xt=urn:btih:abc","visit_count":0,"domain":"go.test","id":"0f5a1c9e-9b0a-4a34-8f0d-9d3c2a6b7e55","link":"http://go.test/x_y-z"}]}
`;
  const expected = (rows: readonly [number, number]): readonly SourceRecord[] => [
    link(rows[0], {
      ...{ code: 'Ab3xYz', domain: 'kutt.test', url: 'https://example.com/spring' },
      ...{ title: 'Spring', clicks: 41, hasPassword: true },
      ...{ createdAt: '2025-01-02T03:04:05.000Z', expiresAt: '2026-12-31T23:00:00.000Z' },
    }),
    link(rows[1], {
      ...{ code: 'x_y-z', domain: 'go.test', url: 'magnet:?xt=urn:btih:abc', disabled: true },
      createdAt: '2025-01-02T03:04:06.000Z',
    }),
  ];

  it('reads the listing of the API, also several pages', async () => {
    expect(await read(listing)).to.deep.equal(expected([2, 3]));
    expect(await read(listing + listing)).to.deep.equal([...expected([2, 3]), ...expected([5, 6])]);
    expect(await read('{"data":[]}')).to.deep.equal([]);
  });

  it('reads arrays and JSON Lines', async () => {
    const { data } = JSON.parse(listing) as { data: readonly unknown[] };
    const [first, second] = data.map((object) => JSON.stringify(object));
    expect(await read(JSON.stringify(data, null, 2))).to.deep.equal(expected([2, 16]));
    expect(await read(`${first}\r\n\r\n${second}`)).to.deep.equal(expected([1, 3]));
  });

  it('reads times without an offset in the zone of the option', async () => {
    const [first] = await readRecords(readKuttJson, listing, { linkZone: 'Asia/Tokyo' });
    expect(first).to.have.nested.property('link.expiresAt', '2026-12-31T14:00:00.000Z');
  });

  it('reports a malformed object and reads the following ones', async () => {
    const broken = [
      '{"address":"a",,"target":"b"}',
      '{"address":"a","target":"5" screen"}',
      '{"address":"a","target":"he said "hi" there"}',
      '{"address":"a","target":"x\\"}',
      '{"address":"a","target":{"b":1}',
      '{"address":5,"target":"b"}',
      '{"address":"a"}',
    ];
    for (const object of broken) {
      const list = `[${kutt('x')},${object},\n${kutt('y')} , ${kutt('z')}]`;
      expect(await codes(list), object).to.deep.equal(['x', null, 'y', 'z']);
      const lines = `${kutt('x')}\n${object}\n${kutt('y')}\n`;
      expect(await codes(lines), object).to.deep.equal(['x', null, 'y']);
    }
  });

  it('names the field that is missing, and the code and the URL', async () => {
    expect(
      await read('[{"address":"a"},\n{"address":"b","target":"c","visit_count":-1}]'),
    ).to.deep.equal([
      invalid(1, 'The record has no valid "target".', { code: 'a' }),
      invalid(2, 'The record has no valid "visit_count".', { code: 'b', url: 'c' }),
    ]);
  });

  it('reports values that are no objects', async () => {
    expect(await read(`[1,"a",null,${kutt('x')},[]]`)).to.deep.equal([
      ...[invalid(1, malformed), invalid(1, malformed), invalid(1, malformed)],
      link(1, { code: 'x', url }),
      invalid(1, malformed),
      invalid(1, malformed),
    ]);
  });

  it('rejects characters that PostgreSQL cannot store', async () => {
    const message =
      'The row has a character that cannot be stored: U+0000 or half a surrogate pair.';
    const text = '[{"address":"a","target":"b\\u0000"},{"address":"\\ud83d","target":"b"}]';
    expect(await read(text)).to.deep.equal([
      invalid(1, message, { code: 'a', url: 'b\ufffd' }),
      invalid(1, message, { code: '\ufffd', url: 'b' }),
    ]);
  });

  it('rejects an object of 10 MB and reads the next one', async () => {
    const long = JSON.stringify({ address: 'a', target: 'x'.repeat(10_000_000) });
    const files = [
      [`[${long},\n${kutt('b')}]`, unended],
      [`${kutt('a')}\n${long}\n${kutt('b')}`, unended],
    ] as const;
    for (const [text, message] of files) {
      const records = await readRecords(readKuttJson, cutText(text, 70_000));
      expect(records.filter(({ type }) => type === 'invalid')).to.have.length(1);
      expect(records.find(({ type }) => type === 'invalid')).to.have.property('message', message);
      expect(records.at(-1)).to.have.nested.property('link.code', 'b');
    }
  });

  it('fails if so many objects are malformed that reading would take quadratic time', async function () {
    this.timeout(20_000);
    const fault = await failure(() =>
      read(`[${'{"a":{},'.repeat(200_000)}`.replaceAll(',{', '},{{')),
    );
    expect(fault).to.be.instanceOf(ImportFileFault);
  });

  it('rejects files that are no JSON, are empty, or end within the list', async () => {
    const files: readonly (readonly [text: string, message: string])[] = [
      ['', 'The file is empty.'],
      [' \n', 'The file is empty.'],
      ['code,url\n', 'The file is no JSON of Kutt: it does not start with [ or {.'],
      [`{"data":[${kutt('a')},`, 'The file ends within its list of links.'],
      [`[${kutt('a')}`, 'The file ends within its list of links.'],
    ];
    for (const [text, message] of files) {
      const fault = await failure(() => read(text));
      expect(fault).to.be.instanceOf(ImportFileFault);
      expect(fault).to.have.property('message', message);
    }
  });
});

describe('imports: JSON of Bitly', () => {
  it('reads each custom link on its own domain, and the random one only without custom ones', async () => {
    const text =
      '{"links":[{"created_at":"2020-10-26T17:20:40+0000","id":"bit.ly/3aBcDeF","link":"https://bit.ly/3aBcDeF","custom_bitlinks":["https://go.brand.test/Sale","https://bit.ly/brand-sale"],"long_url":"https://shop.example/?a=1&b=2","title":"Sale","archived":false,"created_by":"bob","client_id":"xyz","tags":["q4","mail"],"deeplinks":[],"references":{"group":"https://api-ssl.bitly.com/v4/groups/Bk000000000"}},' +
      '\n{"id":"bit.ly/x","custom_bitlinks":[],"long_url":"https://shop.example/","archived":true,"deeplinks":[{}]},' +
      '\n{"id":"bit.ly/y","custom_bitlinks":null,"title":"no URL"}],' +
      '"pagination":{"next":"https://api-ssl.bitly.com/v4/groups/Bk000000000/bitlinks?size=100&search_after=abc","search_after":"abc","size":100}}\n';
    const sale = {
      ...{ url: 'https://shop.example/?a=1&b=2', title: 'Sale', tags: ['q4', 'mail'] },
      createdAt: '2020-10-26T17:20:40.000Z',
    };
    expect(await readRecords(readBitlyJson, text)).to.deep.equal([
      link(1, { ...sale, code: 'Sale', domain: 'go.brand.test' }),
      link(1, { ...sale, code: 'brand-sale', domain: 'bit.ly' }),
      link(2, {
        ...{ code: 'x', domain: 'bit.ly', url: 'https://shop.example/', tags: ['archived'] },
        messages: ['Deep links are not imported.'],
      }),
      invalid(3, 'The row has no destination URL.', { code: 'y' }),
    ]);
  });

  it('reads raw control characters in strings as spaces', async () => {
    const text =
      '{"links":[{"id":"bit.ly/x","long_url":"https://a.example/","title":"a\nb\tc"},\n{"id":"bit.ly/y","long_url":"b"}]}';
    const records = await readRecords(readBitlyJson, text);
    expect(records[0]).to.have.nested.property('link.title', 'a b c');
    expect(records[1]).to.have.property('row', 3);
  });
});

describe('imports: export of Linklog', () => {
  const exported = {
    ...{ domain: 'go.example', code: 'käse', alias: 'käse', url, title: 't', note: 'n' },
    ...{ tags: ['a,b'], createdAt: '2024-01-02T03:04:05.678Z', startsAt: null },
    ...{ expiresAt: '2030-01-01T00:00:00.000Z', maxClicks: 5, clicks: 3, disabled: true },
    rules: [{ name: 'de', when: { countries: ['DE'] }, url: 'https://de.example/' }],
    ...{ forwardQuery: true, hasPassword: true },
  };

  it('reads each line with all its fields', async () => {
    const { alias, ...fields } = exported;
    const plain = { code: 'b', alias: null, url, rules: null, tags: [] };
    const text = `${JSON.stringify(exported)}\n${JSON.stringify(plain)}\n`;
    expect(alias).to.equal('käse');
    expect(await readRecords(readLinklog, text)).to.deep.equal([
      link(1, fields),
      link(2, { code: 'b', isCustom: false, url }),
    ]);
  });

  it('rejects rules that are not valid, and characters in them that cannot be stored', async () => {
    const lines = [
      { ...exported, rules: [{ name: 'x', when: { moons: 1 }, url }] },
      { ...exported, rules: [{ name: 'x\0', when: {}, url }] },
      { ...exported, maxClicks: 0 },
    ];
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const records = await readRecords(readLinklog, text);
    expect(records.map(({ type }) => type)).to.deep.equal(['invalid', 'invalid', 'invalid']);
  });

  it('reads an empty file as no links', async () => {
    expect(await readRecords(readLinklog, '')).to.deep.equal([]);
  });
});

describe('imports: JSON, properties', () => {
  const parts = ['{', '}', '[', ']', ',', '"', '\\', '\n', ' ', ':', 'a', '{"data":[', kutt('x')];
  const tricky = fc.array(fc.constantFrom(...parts)).map((list) => list.join(''));
  const files = fc.oneof(
    tricky,
    tricky.map((rest) => `[${rest}`),
    tricky.map((rest) => `{"total":1,"data":[${rest}`),
  );

  it('reads the same records from any chunks, or reports the same fault', async () => {
    await fc.assert(
      fc.asyncProperty(files, fc.integer({ min: 1, max: 7 }), async (text, size) => {
        const whole = await read(text).catch((error: unknown) => error);
        const cut = await readRecords(readKuttJson, cutText(text, size)).catch(
          (error: unknown) => error,
        );
        if (whole instanceof Error) {
          expect(whole).to.be.instanceOf(ImportFileFault);
          expect(cut).to.have.property('message', whole.message);
        } else expect(cut).to.deep.equal(whole);
      }),
    );
  });

  it('reads the same records from chunks that cut objects of a longer file', async () => {
    const objects = Array.from({ length: 800 }, (_, index) => kutt(`c${index}`.padEnd(200, 'x')));
    for (const text of [objects.join('\r\n'), `{"data":[\r\n${objects.join(',\r\n')}]}`]) {
      const whole = await read(text);
      expect(whole).to.have.length(800);
      for (const size of [1_000, 65_535, 65_536, 65_537]) {
        const cut = await readRecords(readKuttJson, cutText(text, size));
        expect(JSON.stringify(cut)).to.equal(JSON.stringify(whole));
      }
    }
  });

  it('reads any JSON that is written', async () => {
    const object = fc.record({
      address: fc.string({ minLength: 1 }),
      target: fc.json(),
      x: fc.jsonValue(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(object), fc.constantFrom(0, 2), async (objects, indent) => {
        const clean = objects.filter(({ address }) => !address.includes('\0'));
        const list = JSON.stringify({ total: 1, data: clean }, null, indent);
        expect(await codes(list)).to.deep.equal(clean.map(({ address }) => address));
      }),
    );
  });
});
