import { expect } from 'chai';
import { testDatabase, type TestDatabase } from '../../test/support/database.js';
import { byteTexts } from './byte-texts.js';

describe('platform: texts that come as bytes', () => {
  let database: TestDatabase;

  before(async () => {
    database = await testDatabase('byte-texts');
  });

  after(() => database.drop());

  it('are what they are as text, and one that is not there is null', async () => {
    const texts = ['', 'plain', 'é ü 日本 😀', '\t"quoted"\\\n', 'x'.repeat(300_000), null];
    // A statement that the connection has prepared has its format told again.
    for (let time = 0; time < 2; time += 1) {
      const { rows } = await database.pool.query<{ value: string | null }>(
        byteTexts({
          name: 'byte-texts',
          text: `SELECT value FROM unnest($1::text[]) WITH ORDINALITY AS t (value, position) ORDER BY position`,
          values: [texts],
        }),
      );
      expect(rows).to.deep.equal(texts.map((value) => ({ value })));
    }
  });
});
