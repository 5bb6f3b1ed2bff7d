import type { PoolClient } from 'pg';
import type { Pool } from '../../../platform/postgres/pool.js';

/**
 * Comparing large tables takes longer than a service's statements may, and a session waits for others.
 * Prepared statements are planned anew, for the tables grow from nothing under them.
 */
const settings = `
  SET statement_timeout = 0;
  SET idle_in_transaction_session_timeout = 0;
  SET temp_buffers = '32MB';
  SET plan_cache_mode = force_custom_plan;
  SET timezone = 'UTC'`;

/**
 * Runs `work`, which opens connections of its own. They are closed after it: their temporary tables,
 * and what they do in a transaction, go with them, however it ends.
 */
export const withSessions = async <Result>(
  pool: Pool,
  work: (open: () => Promise<PoolClient>) => Promise<Result>,
): Promise<Result> => {
  const clients: PoolClient[] = [];
  const open = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    // A loss shows at the next statement; one that nobody listens to would end the process.
    client.on('error', () => undefined);
    clients.push(client);
    await client.query(settings);
    return client;
  };
  try {
    return await work(open);
  } finally {
    for (const client of clients) client.release(true);
  }
};

/** Begins a transaction in each of the sessions, all of which see the database at one moment. */
export const beginTogether = async (clients: readonly PoolClient[]): Promise<void> => {
  let snapshot: string | undefined;
  for (const client of clients) {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    if (snapshot === undefined) {
      const { rows } = await client.query<{ id: string }>('SELECT pg_export_snapshot() AS id');
      snapshot = rows[0]?.id ?? '';
    } else {
      await client.query(`SET TRANSACTION SNAPSHOT '${snapshot}'`);
    }
  }
};
