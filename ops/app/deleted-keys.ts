import { overwriteWal } from '../local/postgres/wal.js';
import { periodically } from '../platform/concurrency/periodic.js';
import type { Logger } from '../platform/logging.js';
import { createPool, type Pool } from '../platform/postgres/pool.js';

const intervalMs = 600_000;

/**
 * Overwrites the WAL of the embedded PostgreSQL if a key of the visitor hashes was deleted since the last call. The
 * comment on the table stores the oldest key at that call, so that a deletion is detected even after a restart.
 */
export const eraseDeletedKeys = async (pool: Pool): Promise<void> => {
  const { rows } = await pool.query<{ oldest: string | null; previous: string | null }>(
    `SELECT (SELECT min(day)::text FROM ledger.visitor_keys) AS oldest,
            obj_description('ledger.visitor_keys'::regclass, 'pg_class') AS previous`,
  );
  const { oldest = null, previous = null } = rows[0] ?? {};
  if (oldest === null || oldest === previous) return;
  // Without a comment, no key has been deleted yet.
  if (previous !== null) await overwriteWal(pool);
  // COMMENT accepts no parameter; `oldest` is a date that PostgreSQL formatted.
  await pool.query(`COMMENT ON TABLE ledger.visitor_keys IS '${oldest}'`);
};

export const keepErasingDeletedKeys = (url: string, logger: Logger) => {
  const pool = createPool({ url, name: 'erase keys', max: 1, deadlines: 'patient', logger });
  const task = async (): Promise<number> => {
    await eraseDeletedKeys(pool);
    return 0;
  };
  const name = 'erase deleted keys';
  const periodic = periodically({ name, everyMs: intervalMs, task, logger });
  return {
    async stop(): Promise<void> {
      await periodic.stop();
      await pool.end();
    },
  };
};
