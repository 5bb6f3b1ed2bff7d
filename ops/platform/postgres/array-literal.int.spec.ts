import { expect } from 'chai';
import fc from 'fast-check';
import { emptyDatabase, type TestDatabase } from '../../test/support/database.js';
import { arrayLiteral } from './array-literal.js';

describe('platform: array literals', () => {
  let database: TestDatabase;

  before(async () => {
    database = await emptyDatabase('array_literals');
  });
  after(() => database.drop());

  /** What PostgreSQL reads in arrays of these values, with nulls among them. */
  const arrives = async <Value>(type: string, value: fc.Arbitrary<Value>): Promise<void> => {
    const values = fc.array(fc.option(value), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(values, async (sent) => {
        const { rows } = await database.pool.query<{ value: unknown }>(
          `SELECT value FROM unnest($1::${type}[]) WITH ORDINALITY AS v (value, position) ORDER BY position`,
          [arrayLiteral(sent)],
        );
        expect(rows.map((row) => row.value)).to.deep.equal(sent);
      }),
      { numRuns: 50 },
    );
  };

  it('hold texts', () =>
    arrives(
      'text',
      fc
        .oneof(
          fc.string({ unit: 'binary', maxLength: 50 }),
          fc.constantFrom('', 'NULL', '{}', 'a,b', '"', '\\', ' '),
        )
        // PostgreSQL cannot store the null character.
        .map((any) => any.replaceAll('\0', '"')),
    ));

  it('hold whole numbers', () => arrives('bigint', fc.maxSafeInteger()));

  it('hold booleans', () => arrives('boolean', fc.boolean()));

  it('hold times', () =>
    arrives(
      'timestamptz',
      fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
    ));

  it('hold bytes', () =>
    arrives(
      'bytea',
      fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    ));

  it('hold objects', () => arrives('json', fc.dictionary(fc.string(), fc.string())));

  it('hold no arrays', () => {
    expect(() => arrayLiteral([[]])).to.throw(TypeError);
  });
});
