import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import { withConnection, type Pool } from './pool.js';

/**
 * The number of a lock that has a name: 64 bits of a hash, in decimal digits. That it meets a numbered lock,
 * or another name, has a probability of 2⁻⁶⁴.
 */
export const advisoryLockNamed = (name: string): string =>
  createHash('sha256').update(name).digest().readBigInt64BE().toString();

/**
 * Runs `work` with a connection that holds an advisory lock of one number or two; `null` where another
 * session holds it. The lock ends with the connection, so whatever only one process may do is done on
 * this connection.
 */
export const withAdvisoryLock = <Result>(
  pool: Pool,
  lock: readonly number[],
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result | null> =>
  withConnection(pool, async (client, onBroken) => {
    const numbers = lock.map((_, index) => `$${index + 1}`).join(', ');
    const { rows } = await client.query<{ taken: boolean }>(
      `SELECT pg_try_advisory_lock(${numbers}) AS taken`,
      [...lock],
    );
    if (rows[0]?.taken !== true) return null;
    try {
      return await work(client);
    } finally {
      // If this fails, the connection is closed, and the lock goes with it.
      await client.query(`SELECT pg_advisory_unlock(${numbers})`, [...lock]).catch(onBroken);
    }
  });
