import { overwriteWal } from '../local/postgres/wal.js';
import { periodically } from '../platform/concurrency/periodic.js';
import type { Logger } from '../platform/logging.js';
import { createPool, type Pool } from '../platform/postgres/pool.js';

const everyMs = 600_000;

/**
 * Overwrites the WAL of the embedded PostgreSQL if a key of the visitors' hashes was deleted since the last call. The
 * table's comment has the oldest key at that call, so that a restart forgets no deletion.
 */
export const eraseDeletedKeys = async (pool: Pool): Promise<void> => {
  const { rows } = await pool.query<{ oldest: string | null; known: string | null }>(
    `SELECT (SELECT min(day)::text FROM ledger.visitor_keys) AS oldest,
            obj_description('ledger.visitor_keys'::regclass, 'pg_class') AS known`,
  );
  const { oldest = null, known = null } = rows[0] ?? {};
  if (oldest === null || oldest === known) return;
  // Without a comment, no key was deleted yet.
  if (known !== null) await overwriteWal(pool);
  // The day is written by PostgreSQL; COMMENT takes no parameter.
  await pool.query(`COMMENT ON TABLE ledger.visitor_keys IS '${oldest}'`);
};

/** Calls `eraseDeletedKeys` of the embedded PostgreSQL every ten minutes. */
export const keepErasingDeletedKeys = (url: string, logger: Logger) => {
  const pool = createPool({ url, name: 'erase keys', max: 1, deadlines: 'patient', logger });
  const task = async (): Promise<number> => {
    await eraseDeletedKeys(pool);
    return 0;
  };
  const periodic = periodically({ name: 'erase deleted keys', everyMs, task, logger });
  return {
    async stop(): Promise<void> {
      await periodic.stop();
      await pool.end();
    },
  };
};
