import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../local/postgres/index.js';
import { migrate } from '../migrations/migrate.js';
import { createLogger } from '../platform/logging.js';
import { nullOn } from '../platform/errors.js';
import { createPool } from '../platform/postgres/pool.js';
import { copyClusterTemplate } from '../test/support/cluster.js';
import { temporaryDir } from '../test/support/process.js';
import { VisitorKeys } from '../../redirect-edge/visitors/visitor-keys.js';
import { eraseDeletedKeys } from './database.js';

const logger = createLogger('silent');

const filesWith = async (folder: string, bytes: Buffer): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    // PostgreSQL may have removed it meanwhile.
    if ((await nullOn(readFile(file), 'ENOENT'))?.includes(bytes)) found.push(file);
  }
  return found;
};

describe('composition root: deleted keys of visitor hashes', () => {
  it('are in no file of the embedded database, and its WAL is overwritten once', async () => {
    const dataDir = await temporaryDir();
    await copyClusterTemplate(dataDir);
    const postgres = await startEmbeddedPostgres({ dataDir, logger });
    const pool = createPool({ url: postgres.url, name: 'keys', max: 2, logger });
    try {
      await migrate(pool);
      const keys = [randomBytes(32), randomBytes(32)];
      for (const [daysAgo, key] of keys.entries()) {
        await pool.query(
          `INSERT INTO ledger.visitor_keys
           SELECT (now() AT TIME ZONE 'UTC')::date - 3 - $1::integer, $2`,
          [daysAgo, key],
        );
        // The first key is in a segment that the checkpoint recycles for later use.
        await pool.query('SELECT pg_switch_wal()');
        await pool.query('CHECKPOINT');
      }
      for (const key of keys) expect(await filesWith(dataDir, key)).not.to.deep.equal([]);

      const position = async (): Promise<number> => {
        const { rows } = await pool.query<{ bytes: number }>(
          `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
        );
        return rows[0]?.bytes ?? NaN;
      };
      // The first call stores the oldest key.
      await eraseDeletedKeys(pool);
      const live = new VisitorKeys(pool);
      await live.refresh();
      const today = live.of(Date.now());
      await eraseDeletedKeys(pool);
      for (const key of keys) expect(await filesWith(dataDir, key)).to.deep.equal([]);
      const erasedAt = await position();
      await eraseDeletedKeys(pool);
      expect((await position()) - erasedAt).to.be.below(2 ** 20);
      await live.refresh();
      expect(live.of(Date.now())).to.equal(today);
    } finally {
      await pool.end();
      await postgres.stop();
      await rm(dataDir, { recursive: true });
    }
  });
});
