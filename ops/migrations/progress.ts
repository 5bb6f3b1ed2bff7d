import type { PoolClient } from 'pg';
import type { Pool } from '../platform/postgres/pool.js';

/** Interval of the log lines of a long step (ms). */
const reportEveryMs = 3_000;

interface Rows {
  readonly rows: number;
  readonly total: number;
}

/** Returns the rows that the session has indexed, which is what takes most of the time of a migration. */
const readIndexedRows = async (pool: Pool, pid: number): Promise<Rows | null> => {
  const { rows } = await pool.query<Rows>(
    `SELECT tuples_done AS rows, tuples_total AS total FROM pg_stat_progress_create_index
     WHERE pid = $1 AND tuples_total > 0`,
    [pid],
  );
  return rows[0] ?? null;
};

/** Logs the progress of the steps that `client` runs, on another connection of its pool. */
export const reportProgress = async (pool: Pool, client: PoolClient) => {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const pid = rows[0]?.pid ?? 0;
  const { logger } = pool;
  const startedAt = performance.now();
  const seconds = (): number => Math.round((performance.now() - startedAt) / 100) / 10;
  let steps = 1;
  let number = 0;
  let current = '';

  const report = async (): Promise<void> => {
    const step = { step: current, number, of: steps, seconds: seconds() };
    try {
      const indexed = await readIndexedRows(pool, pid);
      logger.info({ ...step, ...indexed }, 'the database is being migrated');
    } catch (err) {
      logger.debug({ err, ...step }, 'the progress of a migration cannot be read');
    }
  };
  const timer = setInterval(() => void report(), reportEveryMs);

  return {
    expect(count: number): void {
      steps = count;
      logger.info({ steps }, 'migrating the database');
    },
    begin(step: string): void {
      if (step !== current) number += 1;
      current = step;
    },
    waiting(err: unknown): void {
      logger.warn({ err, step: current }, 'a migration waits for the locks of running processes');
    },
    stop(): void {
      clearInterval(timer);
    },
    done(): void {
      logger.info({ steps: number, seconds: seconds() }, 'the migration ended');
    },
  };
};

export type Progress = Awaited<ReturnType<typeof reportProgress>>;
