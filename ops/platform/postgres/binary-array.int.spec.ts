import { expect } from 'chai';
import fc from 'fast-check';
import { emptyDatabase, type TestDatabase } from '../../test/support/database.js';
import { binaryArray, type Element, type ElementType } from './binary-array.js';

const { MAX_SAFE_INTEGER: most } = Number;

const elements: { readonly [Type in ElementType]: fc.Arbitrary<Element<Type>> } = {
  smallint: fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }),
  integer: fc.integer(),
  bigint: fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.constantFrom(-1, 2 ** 32, most, -most)),
  timestamptz: fc
    .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    .map((date) => date.getTime()),
  tid: fc
    .tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 0, max: 2 ** 16 - 1 }))
    .map(([block, offset]) => `(${block},${offset})`),
};

describe('platform: binary arrays of numbers, times and row locations', () => {
  let database: TestDatabase;

  before(async () => {
    database = await emptyDatabase('binary_arrays');
  });
  after(() => database.drop());

  for (const type of Object.keys(elements) as ElementType[]) {
    it(`arrive as they were sent: ${type}`, async () => {
      const values = fc.array(fc.option(elements[type] as fc.Arbitrary<never>), { maxLength: 20 });
      await fc.assert(
        fc.asyncProperty(values, async (sent: readonly (string | number | null)[]) => {
          const { rows } = await database.pool.query<{ arrived: readonly unknown[] }>(
            `SELECT array(SELECT ${type === 'timestamptz' ? 'value' : 'value::text'}
               FROM unnest($1::${type}[]) WITH ORDINALITY u (value, position) ORDER BY position) AS arrived`,
            [binaryArray(type, sent as readonly never[])],
          );
          const texts = rows[0]?.arrived.map((value) =>
            value instanceof Date ? String(value.getTime()) : value,
          );
          expect(texts).to.deep.equal(sent.map((value) => (value === null ? null : String(value))));
        }),
      );
    });
  }

  it('are rejected if they are out of range', () => {
    expect(() => binaryArray('smallint', [2 ** 15])).to.throw(RangeError);
    expect(() => binaryArray('integer', [2 ** 31])).to.throw(RangeError);
  });
});
