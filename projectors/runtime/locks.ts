import type { Queryable } from '../../ops/platform/postgres/pool.js';
import { projectionNames, type ProjectionName } from './names.js';

/** First halves of two-part advisory locks: any constants that nobody else uses. */
const batchLocks = 7_021_956;
const rebuildLocks = 7_021_957;

const idOf = (name: ProjectionName): number => projectionNames.indexOf(name);

/**
 * The statement by which a batch keeps its projection's schema where it is until the transaction
 * ends. A statement of its own, before all others: only what comes after it looks names up anew.
 */
export const shareSchema = (name: ProjectionName): string =>
  `SELECT pg_advisory_xact_lock_shared(${batchLocks}, ${idOf(name)})`;

/** The statement that waits until no batch is in flight, and lets none begin before the commit. */
export const ownSchema = (name: ProjectionName): string =>
  `SELECT pg_advisory_xact_lock(${batchLocks}, ${idOf(name)})`;

/** Whether this connection may rebuild the projection, until it is closed or gives that up. */
export const tryRebuildLock = async (client: Queryable, name: ProjectionName): Promise<boolean> => {
  const { rows } = await client.query<{ taken: boolean }>(
    'SELECT pg_try_advisory_lock($1, $2) AS taken',
    [rebuildLocks, idOf(name)],
  );
  return rows[0]?.taken === true;
};

export const dropRebuildLock = async (client: Queryable, name: ProjectionName): Promise<void> => {
  await client.query('SELECT pg_advisory_unlock($1, $2)', [rebuildLocks, idOf(name)]);
};
