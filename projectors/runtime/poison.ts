import pg from 'pg';
import { isConnectionError, OutcomeUnknown } from '../../ops/platform/postgres/pool.js';

/**
 * Classes of SQLSTATE that a value can cause: cardinality, data exception, integrity constraint,
 * program limit (an index entry too long), RAISE. Any other (no such table, no space, deadlock) is
 * the same for every event: blaming events for it would turn the whole log into dead letters.
 */
const dataClasses: ReadonlySet<string> = new Set(['21', '22', '23', '54', 'P0']);

/** Connection, serialization and deadlock, resources, locks, intervention by an operator. */
const transientClasses: ReadonlySet<string> = new Set(['08', '40', '53', '55', '57']);

const classOf = (error: pg.DatabaseError): string => error.code?.slice(0, 2) ?? '';

/** Whether an error of `apply` is to be blamed on an event: the same event will fail again. */
export const isPoison = (error: unknown): boolean =>
  error instanceof pg.DatabaseError
    ? dataClasses.has(classOf(error))
    : // What the fold itself throws.
      error instanceof Error && !isConnectionError(error);

/** Whether reading on from the checkpoint may help, where it may not have helped yet. */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof pg.DatabaseError && transientClasses.has(classOf(error))) return true;
  // The checkpoint tells whether the batch was committed: here, trying again is not blind.
  return error instanceof OutcomeUnknown || isConnectionError(error);
};
