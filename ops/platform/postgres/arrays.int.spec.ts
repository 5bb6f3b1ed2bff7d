import { expect } from 'chai';
import fc from 'fast-check';
import { codePoint } from '../../../schemas/testing/code-point.js';
import { emptyDatabase } from '../../test/support/database.js';
import { fixture } from '../../test/support/fixture.js';
import { encodeParameter, textArray } from './statement.js';

// PostgreSQL cannot store the null character.
const text = fc
  .oneof(
    fc.string({ unit: codePoint, maxLength: 50 }),
    fc.constantFrom('', 'NULL', '{}', 'a,b', '"', '\\', ' ', 'a\n"b"\t'),
  )
  .map((chars) => chars.replaceAll('\0', '"'));

const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  text,
  smallint: fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }),
  bigint: fc.maxSafeInteger(),
  boolean: fc.boolean(),
  timestamptz: fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
  bytea: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  json: fc.dictionary(fc.string(), fc.string()),
};

describe('platform: array parameters', () => {
  const database = fixture(
    () => emptyDatabase('arrays'),
    (database) => database.drop(),
  );

  const expectSame = <Value>(
    type: string,
    value: fc.Arbitrary<Value>,
    encode: (sent: readonly (Value | null)[]) => unknown = (sent) => sent,
  ): Promise<void> =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.option(value), { maxLength: 20 }), async (sent) => {
        const query = `SELECT value FROM unnest($1::${type}[]) WITH ORDINALITY AS v (value, position) ORDER BY position`;
        const { rows } = await database.pool.query<{ value: unknown }>(query, [encode(sent)]);
        expect(rows.map((row) => row.value)).to.deep.equal(sent);
      }),
    );

  for (const [type, value] of Object.entries(values)) {
    it(`are received as they are sent: ${type}`, () => expectSame(type, value));
  }

  it('are received as they are sent in the binary format', () =>
    expectSame('text', text, textArray));

  it('may contain UTF-8 bytes as texts in the binary format, also many', async () => {
    const large = [Buffer.alloc(3_000_000, 'x'), 'ß"\\'];
    for (const texts of [[], [Buffer.from('ß')], ['a', Buffer.from('b'), 'c'], large]) {
      const statement = { text: 'SELECT $1::text[] AS texts', values: [textArray(texts)] };
      const { rows } = await database.pool.query(statement);
      expect(rows).to.deep.equal([{ texts: texts.map(String) }]);
    }
  });

  it('are rejected if they contain an array', () => {
    expect(() => encodeParameter([[]])).to.throw(TypeError);
  });
});
