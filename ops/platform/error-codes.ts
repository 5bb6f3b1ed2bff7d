/** The table of error codes: code → class → retryable and HTTP status. */
import pg from 'pg';

const classes = {
  /** A dependency is unreachable, silent, read-only or short of resources. No event and no command is the cause. */
  unavailable: { retryable: true, status: 503 },
  /** PostgreSQL rolled a transaction back because of a concurrent transaction. */
  conflict: { retryable: true, status: 503 },
  /** This process, its host or another process of Linklog cannot do the work now. */
  temporary: { retryable: true, status: 503 },
  /** A database object is in the wrong state: background work is retried, a request fails. */
  blocked: { retryable: true, status: 500 },
  /** The work may have taken effect, so only a caller that can check for this retries it. */
  uncertain: { retryable: false, status: 503 },
  /** The same input fails again, and other input does not: an event becomes a dead letter. */
  poison: { retryable: false, status: 500 },
  /** All input fails until a person changes the program, the configuration or the data. */
  permanent: { retryable: false, status: 500 },
} as const;

type ErrorClass = keyof typeof classes;

/** SQLSTATEs and their prefixes (PostgreSQL manual, appendix A). The longest match counts. */
const sqlStates = {
  '08': 'unavailable', // connection exception
  '21': 'poison', // cardinality violation
  '22': 'poison', // data exception
  '23': 'poison', // integrity constraint violation
  '25006': 'unavailable', // read-only transaction: a standby, or a provider that protects a full disk
  '25P03': 'unavailable', // idle_in_transaction_session_timeout
  '3F000': 'unavailable', // a schema that a migration of a later generation removed
  '40': 'blocked', // transaction rollback
  '40001': 'conflict', // serialization failure
  '40P01': 'conflict', // deadlock
  '42703': 'unavailable', // a column that a migration of a later generation removed: this process is about to stop
  '42883': 'unavailable', // a function, likewise
  '42P01': 'unavailable', // a table, likewise
  '53': 'unavailable', // insufficient resources: disk, memory, connections
  '54': 'poison', // program limit exceeded, such as an index entry that is too long
  '55': 'blocked', // object not in prerequisite state
  '55P03': 'unavailable', // lock_timeout
  '57': 'blocked', // operator intervention
  '57014': 'unavailable', // statement_timeout
  '57P': 'unavailable', // shutdown, crash, startup; 57PLG: tables of another generation
  P0: 'poison', // PL/pgSQL, such as RAISE
} as const satisfies Readonly<Record<string, ErrorClass>>;

/**
 * Codes of Linklog's own error classes, by the folder that throws them. KafkaFailure, ArchiveUnavailable and
 * DependencyFault have the code of the dependency instead: it is for health reports and the log.
 */
export const ownCodes = {
  // ops/platform
  CANNOT_WRITE: 'permanent',
  CONFIG: 'permanent',
  DATABASE_SILENT: 'unavailable',
  DEADLINE_PASSED: 'temporary',
  FILE_EXISTS: 'permanent',
  LOCK_HELD: 'temporary',
  OUTCOME_UNKNOWN: 'uncertain',
  OVERLOADED: 'temporary',
  RESOLVER_UNAVAILABLE: 'temporary',
  TLS_FAILED: 'unavailable',
  TRANSACTION_ABORTED: 'permanent',
  TRANSACTION_ENDED: 'permanent',
  // ops/migrations
  DATABASE_TOO_NEW: 'permanent',
  DATABASE_TOO_OLD: 'permanent',
  RESTORE_UNFINISHED: 'permanent',
  // ops/event-log
  DAMAGED_RECORDS: 'permanent',
  FOREIGN_LOG: 'permanent',
  FOREIGN_POSITION: 'permanent',
  LOG_INCOMPLETE: 'permanent',
  NOT_ACKNOWLEDGED: 'temporary',
  PARTITIONS_DIFFER: 'permanent',
  POSITION_MOVED: 'temporary',
  TOPIC_DIFFERS: 'permanent',
  TOPIC_MISSING: 'temporary',
  // command-api
  IMPORT_FILE_FAULT: 'permanent',
  IMPORT_LEASE_LOST: 'temporary',
  IMPORT_TOO_LARGE: 'permanent',
  PROVIDER_UNAVAILABLE: 'unavailable',
  UPLOAD_TOO_SLOW: 'permanent',
  TABLES_REPLACED: 'temporary',
  // ops/feed
  HISTORY_INCOMPLETE: 'temporary',
  // ops/local
  SERVER_FAILED: 'permanent',
  SERVER_UNAVAILABLE: 'permanent',
  // ops/tools
  BAD_RESPONSE: 'permanent',
  BAD_BACKUP: 'permanent',
  INTERRUPTED: 'temporary',
  NO_ACCESS: 'permanent',
  NO_DATABASE: 'temporary',
  NO_SERVICE: 'temporary',
  REFUSED: 'permanent',
  UNAVAILABLE: 'temporary',
  USAGE: 'permanent',
  // projectors
  ROWS_CHANGED: 'conflict',
  ARCHIVE_CUT: 'temporary',
  ARCHIVE_FOREIGN: 'temporary',
  BATCH_NOT_AT_CHECKPOINT: 'temporary',
  CHAIN_BROKEN: 'permanent',
  CHAIN_MOVED: 'temporary',
  LEASE_LOST: 'temporary',
  NO_PREVIOUS_PROJECTION: 'permanent',
  REBUILD_RUNNING: 'temporary',
  // redirect-edge
  SPOOL_FULL: 'temporary',
  SPOOL_STOPPED: 'temporary',
  SPOOL_WRITE_FAILED: 'temporary',
  TIMEOUT: 'temporary',
  UNKNOWN_RECORD_FORMAT: 'permanent',
  // schemas
  UNREADABLE_EVENT: 'poison',
} as const satisfies Readonly<Record<string, ErrorClass>>;

export type OwnCode = keyof typeof ownCodes;

const table: ReadonlyMap<string, ErrorClass> = new Map(
  Object.entries({ ...sqlStates, ...ownCodes }),
);

/**
 * Codes of system calls and of name resolution (ECONNREFUSED, EAI_AGAIN), and Node's codes of a broken
 * connection. Node's other `ERR_` codes are mistakes in a program.
 */
const brokenConnection = /^(?:E(?!RR_)[A-Z_]+|ERR_(?:SOCKET|STREAM|SSL|TLS)_[A-Z_]+)$/;

/** Errors of pg and pg-pool without a code: no connection, no response in time, a lost connection. */
const driverMessages =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|is not queryable/i;

const classOfCode = (code: string): ErrorClass | undefined =>
  table.get(code) ??
  table.get(code.slice(0, 3)) ??
  table.get(code.slice(0, 2)) ??
  (brokenConnection.test(code) ? 'unavailable' : undefined);

const classOfMessage = (message: string): ErrorClass | undefined =>
  driverMessages.test(message) ? 'unavailable' : undefined;

const classOf = (error: unknown): ErrorClass => {
  if (!(error instanceof Error)) return 'permanent';
  const { code } = error as { readonly code?: unknown };
  const known = typeof code === 'string' ? classOfCode(code) : classOfMessage(error.message);
  // PostgreSQL refuses a wrong statement for every event; an error of JavaScript depends on the event.
  return known ?? (error instanceof pg.DatabaseError ? 'permanent' : 'poison');
};

/** Whether a concurrent transaction is the cause: an immediate retry may succeed. */
export const isConflict = (error: unknown): boolean => classOf(error) === 'conflict';

/** Whether a dependency is the cause: unreachable, silent, or too busy. */
export const isUnavailable = (error: unknown): boolean =>
  classOf(error) === 'unavailable' || isConflict(error);

/**
 * Whether a statement does not match the tables: a later version has migrated them, or the statement is wrong. Unlike an
 * outage, it is logged for each request.
 */
export const isStatementFault = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && /^(?:42|3F)/.test(error.code ?? '');

/** Whether the event is the cause: it fails again, and becomes a dead letter. */
export const isPoison = (error: unknown): boolean => classOf(error) === 'poison';

/** Whether a retry may succeed later, and is safe. */
export const isRetryable = (error: unknown): boolean => classes[classOf(error)].retryable;

/** Whether a single command may be the cause of a failed batch that had no effect. */
export const mayBeCausedByOneCommand = (error: unknown): boolean =>
  !isUnavailable(error) && classOf(error) !== 'uncertain';

/** The HTTP status of a request that failed. */
export const statusOf = (error: unknown): 500 | 503 => classes[classOf(error)].status;
