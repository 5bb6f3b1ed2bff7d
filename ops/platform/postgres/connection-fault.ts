import pg from 'pg';
import { isUnavailable } from '../error-codes.js';
import { DependencyFault, hasCode, messageOf, ConfigError } from '../errors.js';
import { TlsFailed } from './client.js';
import { type Pool, type Queryable, withConnection } from './pool.js';

/** The oldest supported major version of PostgreSQL. */
const oldestVersion = 16;

/** @throws ConfigError */
export const requireVersion = async (client: Queryable): Promise<void> => {
  const { rows } = await client.query<{ major: number; version: string }>(
    `SELECT current_setting('server_version_num')::integer / 10000 AS major,
       current_setting('server_version') AS version`,
  );
  const [found] = rows;
  if (!found || found.major >= oldestVersion) return;
  throw new ConfigError(
    `DATABASE_URL: PostgreSQL ${found.version} is too old: Linklog requires PostgreSQL ${oldestVersion} or later`,
  );
};

/** Class 28: user or password; 3D000: unknown database; 42501: no right to connect. */
const rejections = /^(?:28|3D000$|42501$)/;

/** Whether the server ended the connection at its start. */
const isRejected = (error: unknown): boolean =>
  error instanceof pg.DatabaseError &&
  error.severity === 'FATAL' &&
  rejections.test(error.code ?? '');

/**
 * Names DATABASE_URL in the error of a connection: the result is a ConfigError if only a change of DATABASE_URL or
 * of the server helps.
 */
export const namingDatabaseUrl = (cause: unknown): unknown => {
  const reason = messageOf(cause);
  if (hasCode(cause, '25006')) {
    const message =
      `DATABASE_URL: PostgreSQL is read-only (${reason}): connect to the primary, or list all hosts ` +
      'with target_session_attrs=read-write';
    return new Error(message, { cause });
  }
  if (cause instanceof TlsFailed) return new ConfigError(`DATABASE_URL: ${reason}`, { cause });
  if (isRejected(cause)) {
    const message = `DATABASE_URL: PostgreSQL rejected the connection: ${reason}`;
    return new ConfigError(message, { cause });
  }
  if (!isUnavailable(cause)) return cause;
  return new Error(`DATABASE_URL: PostgreSQL cannot be reached: ${reason}`, { cause });
};

/** Whether PostgreSQL is unavailable, and may become available without a person. Errors of files have a path. */
export const isOutage = (error: unknown): boolean =>
  isUnavailable(error) &&
  !(error instanceof Error && 'path' in error) &&
  !(namingDatabaseUrl(error) instanceof ConfigError);

/** @throws DependencyFault with SQLSTATE 25006 on a standby, or if `default_transaction_read_only` is set */
export const requireWritable = (pool: Pool): Promise<void> =>
  withConnection(pool, async (client) => {
    const { rows } = await client.query<{ readOnly: boolean }>(
      `SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`,
    );
    if (rows[0]?.readOnly === true) throw new DependencyFault('25006', 'postgres is read-only');
  });
