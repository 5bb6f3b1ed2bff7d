import { expect } from 'chai';
import fc from 'fast-check';
import { emptyDatabase, type TestDatabase } from '../../test/support/database.js';
import { textArray } from './text-array.js';

describe('platform: texts as one parameter', () => {
  let database: TestDatabase;

  before(async () => {
    database = await emptyDatabase('texts');
  });
  after(() => database.drop());

  it('arrive as they were sent', async () => {
    const text = fc
      .string({ unit: 'binary', maxLength: 50 })
      // The one character that PostgreSQL does not take.
      .map((any) => any.replaceAll('\0', '"'));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 20 }), async (texts) => {
        const { rows } = await database.pool.query<{ texts: readonly string[] }>(
          'SELECT $1::text[] AS texts',
          [textArray(texts)],
        );
        expect(rows).to.deep.equal([{ texts }]);
      }),
    );
  });
});
