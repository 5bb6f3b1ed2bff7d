import { advisoryLocks } from '../../ops/platform/postgres/advisory-locks.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import { projectionNames, type ProjectionName } from './names.js';

const idOf = (name: ProjectionName): number => projectionNames.indexOf(name);

/**
 * The statement by which a batch keeps its projection's schema where it is until the transaction
 * ends. A statement of its own, before all others: only what comes after it looks names up anew.
 */
export const shareSchema = (name: ProjectionName): string =>
  `SELECT pg_advisory_xact_lock_shared(${advisoryLocks.projectionSchema}, ${idOf(name)})`;

/** The statement that waits until no batch is in flight, and lets none begin before the commit. */
export const ownSchema = (name: ProjectionName): string =>
  `SELECT pg_advisory_xact_lock(${advisoryLocks.projectionSchema}, ${idOf(name)})`;

/** Whether this connection may rebuild the projection, until it is closed or gives that up. */
export const tryRebuildLock = async (client: Queryable, name: ProjectionName): Promise<boolean> => {
  const { rows } = await client.query<{ taken: boolean }>(
    'SELECT pg_try_advisory_lock($1, $2) AS taken',
    [advisoryLocks.projectionRebuild, idOf(name)],
  );
  return rows[0]?.taken === true;
};

export const dropRebuildLock = async (client: Queryable, name: ProjectionName): Promise<void> => {
  await client.query('SELECT pg_advisory_unlock($1, $2)', [
    advisoryLocks.projectionRebuild,
    idOf(name),
  ]);
};
