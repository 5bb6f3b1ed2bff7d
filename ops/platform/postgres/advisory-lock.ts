import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import { withConnection, type Pool, type Queryable } from './pool.js';

/** One number, or two; a 64-bit number is a decimal string. */
export type AdvisoryLock = readonly (number | string)[];

/** Derives a lock from a name. A collision with another lock has a probability of 2⁻⁶⁴. */
export const advisoryLockNamed = (name: string): AdvisoryLock => [
  createHash('sha256').update(name).digest().readBigInt64BE().toString(),
];

const parameters = (lock: AdvisoryLock): string =>
  lock.map((_, index) => `$${index + 1}`).join(', ');

/** Acquires a lock for the session of `client`. Returns `false` if another session holds it. */
export const tryAdvisoryLock = async (client: Queryable, lock: AdvisoryLock): Promise<boolean> => {
  const { rows } = await client.query<{ acquired: boolean }>(
    `SELECT pg_try_advisory_lock(${parameters(lock)}) AS acquired`,
    [...lock],
  );
  return rows[0]?.acquired === true;
};

/**
 * Runs `work` with a connection that holds an advisory lock; `null` if another session holds it. The lock ends with the
 * connection, so work that only one process may do must use this connection.
 */
export const withAdvisoryLock = <Result>(
  pool: Pool,
  lock: AdvisoryLock,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result | null> =>
  withConnection(pool, async (client, onBroken) => {
    if (!(await tryAdvisoryLock(client, lock))) return null;
    try {
      return await work(client);
    } finally {
      // If this fails, the connection is closed, which releases the lock.
      await client
        .query(`SELECT pg_advisory_unlock(${parameters(lock)})`, [...lock])
        .catch(onBroken);
    }
  });
