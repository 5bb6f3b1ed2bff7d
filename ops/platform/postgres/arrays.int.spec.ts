import { expect } from 'chai';
import fc from 'fast-check';
import { emptyDatabase } from '../../test/support/database.js';
import { fixture } from '../../test/support/fixture.js';
import { arrayLiteral } from './array-literal.js';
import { binaryArray, type Element, type ElementType } from './binary-array.js';
import { textArray } from './text-array.js';
import { codePoint } from '../../../schemas/testing/code-point.js';

const { MAX_SAFE_INTEGER: most } = Number;

// PostgreSQL cannot store the null character.
const text = fc
  .oneof(
    fc.string({ unit: codePoint, maxLength: 50 }),
    fc.constantFrom('', 'NULL', '{}', 'a,b', '"', '\\', ' '),
  )
  .map((chars) => chars.replaceAll('\0', '"'));
const date = fc.date({
  min: new Date('0001-01-01'),
  max: new Date('9999-12-31'),
  noInvalidDate: true,
});

const literals: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  text,
  bigint: fc.maxSafeInteger(),
  boolean: fc.boolean(),
  timestamptz: date.filter((time) => time.getTime() >= 0),
  bytea: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  json: fc.dictionary(fc.string(), fc.string()),
};

const elements: { readonly [Type in ElementType]: fc.Arbitrary<Element<Type>> } = {
  smallint: fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }),
  integer: fc.integer(),
  bigint: fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.constantFrom(-1, 2 ** 32, most, -most)),
  timestamptz: date.map((time) => time.getTime()),
  tid: fc
    .tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 0, max: 2 ** 16 - 1 }))
    .map(([block, offset]) => `(${block},${offset})`),
};

describe('platform: array parameters', () => {
  const database = fixture(
    () => emptyDatabase('arrays'),
    (database) => database.drop(),
  );

  /** Sends arrays of the values and nulls; `decode` converts what PostgreSQL returns. */
  const expectSame = <Value>(
    type: string,
    value: fc.Arbitrary<Value>,
    encode: (values: readonly (Value | null)[]) => string | Buffer,
    decode: (received: unknown) => unknown = (received) => received,
  ): Promise<void> =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.option(value), { maxLength: 20 }), async (sent) => {
        const { rows } = await database.pool.query<{ value: unknown }>(
          `SELECT value FROM unnest($1::${type}[]) WITH ORDINALITY AS v (value, position) ORDER BY position`,
          [encode(sent)],
        );
        expect(rows.map((row) => decode(row.value))).to.deep.equal(sent);
      }),
    );

  for (const [type, value] of Object.entries(literals)) {
    it(`are equal after a literal: ${type}`, () => expectSame(type, value, arrayLiteral));
  }

  for (const type of Object.keys(elements) as ElementType[]) {
    it(`are equal after the binary format: ${type}`, () =>
      expectSame(
        type,
        elements[type] as fc.Arbitrary<never>,
        (values) => binaryArray(type, values),
        (received) => (received instanceof Date ? received.getTime() : received),
      ));
  }

  it('are equal after the binary format: text', () => expectSame('text', text, textArray));

  it('accept UTF-8 bytes as texts', async () => {
    const query = 'SELECT $1::integer AS number, $2::text[] AS texts';
    const large = [Buffer.alloc(3_000_000, 'x'), Buffer.alloc(3_000_000, 'y')];
    const cases = [[], ['a', 'ß"\\'], [Buffer.from('ß')], ['a', Buffer.from('b'), 'c'], large];
    for (const texts of cases) {
      const { rows } = await database.pool.query(query, [7, textArray(texts)]);
      expect(rows).to.deep.equal([{ number: 7, texts: texts.map(String) }]);
    }
  });

  it('are rejected if they contain an array or a value out of range', () => {
    expect(() => arrayLiteral([[]])).to.throw(TypeError);
    expect(() => binaryArray('smallint', [2 ** 15])).to.throw(RangeError);
    expect(() => binaryArray('integer', [2 ** 31])).to.throw(RangeError);
  });
});
