import pg from 'pg';

/** PostgreSQL is known not to answer. Nothing was sent to it, so nothing takes effect later. */
export class DatabaseSilent extends Error {
  readonly code = 'DATABASE_SILENT';
  readonly retryable = true;

  constructor() {
    super('PostgreSQL does not answer');
  }
}

/** Errors of the driver that have no code: no connection, no answer in time, a connection that was lost. */
const driverMessages =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|is not queryable/i;

/**
 * SQLSTATEs that say nothing about the statement itself: connection (08), resources (53), shutdown and
 * start (57P), statement timeout (57014), lock timeout (55P03), transaction left idle (25P03), serialization
 * failure (40001), deadlock (40P01).
 */
const away = /^(?:08|53|57P|57014|55P03|25P03|40001|40P01)/;

/**
 * Codes of the system (ECONNREFUSED, EAI_AGAIN), and Node's own of a connection that breaks. Node's other
 * `ERR_` codes are mistakes in a program.
 */
const brokenConnection = /^(?:E(?!RR_)[A-Z_]+|ERR_(?:SOCKET|STREAM|SSL|TLS)_[A-Z_]+)$/;

/**
 * Whether PostgreSQL is away: not to be reached, silent, or too busy. The same may succeed later, so a
 * request gets 503, background work is tried again, and no event is to blame.
 */
export const isAway = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  if (error instanceof DatabaseSilent) return true;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return away.test(code) || brokenConnection.test(code);
  return driverMessages.test(error.message);
};

/** Whether the server itself refused a statement, on a connection that goes on. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.severity === 'ERROR';

/** Whether PostgreSQL rolled a transaction back because of transactions beside it: a retry may succeed at once. */
export const isConflict = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01');
