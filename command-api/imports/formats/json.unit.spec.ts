import { expect } from 'chai';
import fc from 'fast-check';
import {
  cutText,
  expectFault,
  invalidRecord as invalid,
  linkRecord as link,
  readRecords,
} from '../../testing/import-files.js';
import { readBitlyJson, readKuttJson, readLinklog } from './json.js';
import type { SourceRecord } from './records.js';

const url = 'https://example.org/';

const malformed = 'The record is not a JSON object.';
const unended = 'The record does not end within 100,000 characters.';

const kutt = (address: string): string => JSON.stringify({ address, target: url });

const read = (text: string): Promise<readonly SourceRecord[]> => readRecords(readKuttJson, text);

const codes = async (text: string): Promise<readonly (string | null)[]> =>
  (await read(text)).map((record) => (record.type === 'link' ? record.link.code : null));

describe('imports: JSON of Kutt', () => {
  const objects = [
    {
      ...{ address: 'Ab3xYz', banned: false, created_at: '2025-01-02T03:04:05.000Z' },
      ...{ password: true, description: 'Spring', expire_in: '2026-12-31 23:00:00' },
      ...{ target: url, visit_count: 41, domain: null, link: 'https://kutt.test/Ab3xYz' },
    },
    {
      ...{ address: 'x_y-z', banned: true, created_at: '2025-01-02T03:04:06.000Z' },
      ...{ password: false, description: null, expire_in: null, visit_count: 0 },
      ...{ target: 'magnet:?xt=a', domain: 'go.test', link: 'http://go.test/x_y-z' },
    },
  ];
  const [first, second] = objects.map((object) => JSON.stringify(object));
  const listing = `{"total":2,"limit":50,"skip":0,"data":[\n${first},\n${second}]}\n`;
  const expected = (rows: readonly [number, number]): readonly SourceRecord[] => [
    link(rows[0], {
      ...{ code: 'Ab3xYz', domain: 'kutt.test', url, title: 'Spring', clicks: 41 },
      ...{ createdAt: '2025-01-02T03:04:05.000Z', expiresAt: '2026-12-31T23:00:00.000Z' },
      hasPassword: true,
    }),
    link(rows[1], {
      ...{ code: 'x_y-z', domain: 'go.test', url: 'magnet:?xt=a', disabled: true },
      createdAt: '2025-01-02T03:04:06.000Z',
    }),
  ];

  it('reads the listing of the API, also several pages', async () => {
    expect(await read(listing)).to.deep.equal(expected([2, 3]));
    expect(await read(listing + listing)).to.deep.equal([...expected([2, 3]), ...expected([5, 6])]);
    expect(await read('{"data":[]}')).to.deep.equal([]);
  });

  it('reads arrays and JSON Lines', async () => {
    expect(await read(JSON.stringify(objects, null, 2))).to.deep.equal(expected([2, 14]));
    expect(await read(`${first}\r\n\r\n${second}`)).to.deep.equal(expected([1, 3]));
  });

  it('reads times without an offset in the zone of the option', async () => {
    const [record] = await readRecords(readKuttJson, listing, { linkZone: 'Asia/Tokyo' });
    expect(record).to.have.nested.property('link.expiresAt', '2026-12-31T14:00:00.000Z');
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

  it('rejects an end that cannot be read, and bytes that are not valid in the encoding', async () => {
    const end = JSON.stringify({ address: 'a', target: url, expire_in: 'soon' });
    expect(await read(`[${end},\n{"address":"b\udce4","target":"b"}]`)).to.deep.equal([
      invalid(1, 'The value "soon" of "expire_in" is not a time.', { code: 'a', url }),
      invalid(2, 'The record has the byte 0xE4, which is not valid in the encoding of the file.'),
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

  it('rejects an object that is too long and reads the next one', async () => {
    const long = JSON.stringify({ address: 'a', target: 'x'.repeat(1_000_000) });
    for (const text of [`[${long},\n${kutt('b')}]`, `${kutt('a')}\n${long}\n${kutt('b')}`]) {
      const records = await readRecords(readKuttJson, cutText(text, 70_000));
      const refused = records.filter(({ type }) => type === 'invalid');
      expect(refused).to.have.length(1);
      expect(refused[0]).to.have.property('message', unended);
      expect(records.at(-1)).to.have.nested.property('link.code', 'b');
    }
  });

  it('fails if so many objects are malformed that reading would take quadratic time', async () => {
    await expectFault(read(`[${'{"a":{},'.repeat(60_000)}`.replaceAll(',{', '},{{')));
  });

  it('rejects files that are no JSON, are empty, or end within the list', async () => {
    for (const [text, message] of [
      ['', 'The file is empty.'],
      [' \n', 'The file is empty.'],
      ['code,url\n', 'The file is no JSON of Kutt: it does not start with [ or {.'],
      [`{"data":[${kutt('a')},`, 'The file ends within its list of links.'],
      [`[${kutt('a')}`, 'The file ends within its list of links.'],
    ] as const) {
      await expectFault(read(text), message);
    }
  });
});

describe('imports: JSON of Bitly', () => {
  it('reads each custom link on its own domain, and the random one only without custom ones', async () => {
    const bitlinks = [
      {
        ...{ created_at: '2020-10-26T17:20:40+0000', id: 'bit.ly/3aBcDeF', archived: false },
        custom_bitlinks: ['https://go.test/Sale', 'https://bit.ly/brand-sale'],
        ...{ long_url: url, title: 'Sale', tags: ['q4', 'mail'], deeplinks: [] },
        references: { group: 'https://api-ssl.bitly.com/v4/groups/Bk000000000' },
      },
      { id: 'bit.ly/x', custom_bitlinks: [], long_url: url, archived: true, deeplinks: [{}] },
      { id: 'bit.ly/y', custom_bitlinks: null, title: 'no URL' },
    ].map((bitlink) => JSON.stringify(bitlink));
    const text = `{"links":[${bitlinks.join(',\n')}],"pagination":{"next":"a","size":100}}\n`;
    const sale = {
      ...{ url, title: 'Sale', tags: ['q4', 'mail'], createdAt: '2020-10-26T17:20:40.000Z' },
    };
    expect(await readRecords(readBitlyJson, text)).to.deep.equal([
      link(1, { ...sale, code: 'Sale', domain: 'go.test' }),
      link(1, { ...sale, code: 'brand-sale', domain: 'bit.ly' }),
      link(2, {
        ...{ code: 'x', domain: 'bit.ly', url, tags: ['archived'] },
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
  const fields = {
    ...{ domain: 'go.example', code: 'käse', url, title: 't', note: 'n' },
    ...{ tags: ['a,b'], createdAt: '2024-01-02T03:04:05.678Z', startsAt: null },
    ...{ expiresAt: '2030-01-01T00:00:00.000Z', maxClicks: 5, clicks: 3, disabled: true },
    hasPassword: true,
  };
  const options = {
    rules: [{ name: 'de', when: { countries: ['DE'] }, url: 'https://de.example/' }],
    forwardQuery: true as const,
  };
  const exported = { ...fields, ...options, alias: 'käse' };

  it('reads each line with all its fields, and an empty file as no links', async () => {
    const plain = { code: 'b', alias: null, url, rules: null, tags: [] };
    const text = `${JSON.stringify(exported)}\n${JSON.stringify(plain)}\n`;
    const second = link(2, { code: 'b', isCustom: false, url });
    expect(await readRecords(readLinklog, text)).to.deep.equal([
      link(1, { ...fields, options }),
      second,
    ]);
    expect(await readRecords(readLinklog, '')).to.deep.equal([]);
  });

  it('rejects rules that are not valid, and characters in them that cannot be stored', async () => {
    const lines = [
      { ...exported, rules: [{ name: 'x', when: { moons: 1 }, url }] },
      { ...exported, rules: [{ name: 'x\0', when: {}, url }] },
    ];
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const records = await readRecords(readLinklog, text);
    expect(records.map(({ type }) => type)).to.deep.equal(['invalid', 'invalid']);
  });

  it('rejects a start or an end that cannot be read, so that no link is wider than its original', async () => {
    for (const field of ['startsAt', 'expiresAt'] as const) {
      const [record] = await readRecords(
        readLinklog,
        JSON.stringify({ ...exported, [field]: 'soon' }),
      );
      const message = `The value "soon" of "${field}" is not a time.`;
      expect(record).to.deep.equal(invalid(1, message, { code: 'käse', url }));
    }
  });
});

describe('imports: JSON, properties', () => {
  it('reads any JSON that is written', async () => {
    const address = fc.string({ minLength: 1 }).filter((text) => !text.includes('\0'));
    const object = fc.record({ address, target: fc.json(), x: fc.jsonValue() });
    await fc.assert(
      fc.asyncProperty(fc.array(object), fc.constantFrom(0, 2), async (objects, indent) => {
        const list = JSON.stringify({ total: 1, data: objects }, null, indent);
        expect(await codes(list)).to.deep.equal(objects.map((written) => written.address));
      }),
      { numRuns: 25 },
    );
  });
});
