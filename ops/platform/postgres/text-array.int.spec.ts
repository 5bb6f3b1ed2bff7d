import { expect } from 'chai';
import fc from 'fast-check';
import { emptyDatabase, type TestDatabase } from '../../test/support/database.js';
import { textArray } from './text-array.js';

describe('platform: binary arrays of texts', () => {
  let database: TestDatabase;

  before(async () => {
    database = await emptyDatabase('texts');
  });
  after(() => database.drop());

  it('sends any texts', async () => {
    const text = fc
      .string({ unit: 'binary', maxLength: 50 })
      // PostgreSQL cannot store the null character.
      .map((any) => any.replaceAll('\0', '"'));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(text), { maxLength: 20 }), async (texts) => {
        const { rows } = await database.pool.query<{ texts: readonly (string | null)[] }>(
          'SELECT $1::text[] AS texts',
          [textArray(texts)],
        );
        expect(rows).to.deep.equal([{ texts }]);
      }),
    );
  });

  it('sends bytes in UTF-8 as texts, beside another parameter', async () => {
    const query = 'SELECT $1::integer AS number, $2::text[] AS texts';
    for (const texts of [[], ['a', 'ß"\\'], [Buffer.from('ß')], ['a', Buffer.from('b'), 'c']]) {
      const { rows } = await database.pool.query(query, [7, textArray(texts)]);
      expect(rows).to.deep.equal([{ number: 7, texts: texts.map(String) }]);
    }
    const large = [Buffer.alloc(3_000_000, 'x'), Buffer.alloc(3_000_000, 'y')];
    const { rows } = await database.pool.query(query, [7, textArray(large)]);
    expect(rows).to.deep.equal([{ number: 7, texts: large.map(String) }]);
  });
});
