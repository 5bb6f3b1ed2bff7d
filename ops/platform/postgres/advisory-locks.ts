import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import { withConnection, type Pool } from './pool.js';

/**
 * Every advisory lock that Linklog takes, so that no number means two things. Locks with one number
 * and locks with two (the second names a projection) are apart in PostgreSQL.
 */
export const advisoryLocks = {
  /** Held while migrations run. */
  migrations: 7_021_955,
  /** Held by the one process that relays the outbox to the log. */
  relay: 7_021_956,
  /** Held while the first key of a new installation is made. */
  firstKey: 7_021_957,
  /** With a projection's number: shared by batches, held by whoever changes the schema. */
  projectionSchema: 7_021_958,
  /** With a projection's number: held by whoever rebuilds it. */
  projectionRebuild: 7_021_959,
  /** Held by the one process that compacts the embedded log at this moment. */
  compaction: 7_021_960,
  /** With the hash of an account's name: held while a key of the account makes a key. */
  accountKeys: 7_021_961,
  /** Held by the one process that counts the missing visits of spools at this moment. */
  spoolWatch: 7_021_963,
} as const;

/**
 * The number of a lock that has a name: 64 bits of a hash, in decimal digits. That it meets one of the numbers above,
 * or that of another name, has a probability of 2⁻⁶⁴.
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
