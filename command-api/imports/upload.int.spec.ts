import { expect } from 'chai';
import { newId } from '../../ops/platform/new-id.js';
import { createLogger } from '../../ops/platform/logging.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { importQuery } from '../../schemas/http/imports.js';
import { countUnfinished, insertImport } from './store.js';
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
});
