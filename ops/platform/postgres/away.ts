import pg from 'pg';
import { hasCode } from '../errors.js';

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
 * The SQLSTATEs, and the prefixes of SQLSTATEs, that mean that PostgreSQL is unavailable. They say nothing
 * about the statement itself.
 */
const unavailableStates = {
  '08': 'connection exception',
  '53': 'insufficient resources: disk, memory, connections',
  '57P': 'shutdown, crash, startup',
  '57014': 'statement timeout',
  '55P03': 'lock timeout',
  '25P03': 'idle in transaction timeout',
  '40001': 'serialization failure',
  '40P01': 'deadlock',
  '25006': 'read-only: a standby, or a provider that protects a full disk',
} as const;

const away = new RegExp(`^(?:${Object.keys(unavailableStates).join('|')})`);

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

/** Whether the session, or the whole server, is read-only. A new session may not be. */
export const isReadOnly = (error: unknown): boolean => hasCode(error, '25006');

/** Whether the server itself refused a statement, on a connection that goes on. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.severity === 'ERROR';

/** Whether PostgreSQL rolled a transaction back because of transactions beside it: a retry may succeed at once. */
export const isConflict = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01');
