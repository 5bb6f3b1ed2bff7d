import type { PoolClient } from 'pg';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { dropRebuildLock, tryRebuildLock } from './locks.js';
import type { ProjectionName } from './names.js';

/** Somebody rebuilds this projection already. */
export class RebuildRunning extends Error {
  readonly code = 'REBUILD_RUNNING';
  readonly retryable = true;

  constructor(name: ProjectionName) {
    super(`The projection ${name} is being rebuilt already; wait until that has ended`);
  }
}

/**
 * Runs `work` with a connection that holds the projection's rebuild lock. The connection's end is
 * the lock's end: what must be done by one rebuild alone is done on this connection.
 *
 * @throws RebuildRunning
 */
export const withRebuildLock = async <Result>(
  pool: Pool,
  name: ProjectionName,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> => {
  const client = await pool.connect();
  let broken: Error | undefined;
  // It idles for long; a loss meanwhile shows at its next statement.
  const onError = (error: Error): void => {
    broken = error;
  };
  client.on('error', onError);
  try {
    if (!(await tryRebuildLock(client, name))) throw new RebuildRunning(name);
    try {
      return await work(client);
    } finally {
      await dropRebuildLock(client, name).catch((error: unknown) => {
        // Then the connection is closed, and the lock with it.
        broken = error as Error;
      });
    }
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
};

/** A transaction on a connection that is not given back after it. */
export const transactionOn = async <Result>(
  client: PoolClient,
  work: () => Promise<Result>,
): Promise<Result> => {
  await client.query('BEGIN');
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((cause: unknown) => {
      throw new AggregateError([error, cause], 'A transaction failed, and its rollback too');
    });
    throw error;
  }
};
