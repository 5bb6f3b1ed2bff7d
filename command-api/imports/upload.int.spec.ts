import { expect } from 'chai';
import { newId } from '../../ops/platform/new-id.js';
import { createLogger } from '../../ops/platform/logging.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { importQuery } from '../../schemas/http/imports.js';
import { countUnfinished, insertImport, readPortion } from './store.js';
import { receiveFile } from './upload.js';

const account = 'uploads';

describe('imports: uploads', () => {
  const database = databaseFixture('uploads');

  const endLeases = async (): Promise<void> => {
    await database.pool.query("UPDATE imports.imports SET leased_until = '-infinity'");
  };

  const upload = (
    format: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<string> =>
    receiveFile(database.pool, createLogger('silent'), {
      ...{ account, keyId: null, actor: 'test', requestId: 'test', maxBytes: 1_000_000 },
      query: importQuery.parse({ format, visits: '1' }),
      chunks: (async function* () {
        yield* chunks;
      })(),
    });

  it('do not count towards the limit after the kill of their process', async () => {
    await insertImport(database.pool, {
      ...{ id: newId(), account, keyId: null, actor: 'test', requestId: 'test', format: 'csv' },
      options: { domain: null, onConflict: 'skip', dryRun: false, visits: false },
    });
    expect(await countUnfinished(database.pool, account)).to.equal(1);
    await endLeases();
    expect(await countUnfinished(database.pool, account)).to.equal(0);
  });

  it('renew their lease while a file arrives slowly', async () => {
    const count = (): Promise<number> => countUnfinished(database.pool, account);
    async function* slowly(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`code,url\n${'a,https://example.com/\n'.repeat(5_000)}`);
      await eventually('the upload has started', async () => (await count()) === 1);
      await endLeases();
      await eventually('the upload has a lease', async () => (await count()) === 1);
      yield Buffer.from('b,https://example.com/\n');
    }
    await upload('csv', slowly());
    expect(await count()).to.equal(1);
  });

  it('store a click with a code that PostgreSQL cannot index as an invalid row', async () => {
    const codes = ['a', 'a\\0b', 'a'.repeat(501), Array.from({ length: 9_999 }, newId).join('')];
    const rows = codes.map((code) => `('2024-01-01 00:00:00','${code}')`);
    const id = await upload('yourls-sql', [
      Buffer.from(`INSERT INTO yourls_log (click_time, shorturl) VALUES\n${rows.join(',\n')};\n`),
    ]);
    const records = await readPortion(database.pool, id, 0);
    expect(records.map(({ row }) => row)).to.deep.equal([3, 4, 5]);
    const visits = 'SELECT code FROM imports.visits WHERE import = $1';
    expect((await database.pool.query(visits, [id])).rows).to.deep.equal([{ code: 'a' }]);
  });
});
