import { runningPostgresUrl } from '../embedded/index.js';
import { requireMigrated } from '../migrations/migrate.js';
import type { Config } from '../platform/config.js';
import type { EventLog } from '../platform/event-log/port.js';
import { openPostgresLog } from '../platform/event-log/postgres-log.js';
import type { Outbox } from '../platform/outbox/port.js';
import { createLogger, type Logger } from '../platform/logging.js';
import { createPool, isConnectionError, type Pool } from '../platform/postgres/pool.js';
import { explainDataDir } from './data-dir-errors.js';
import { CliError, messageOf } from './errors.js';

export interface Database {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly outbox: Outbox;
  /** Silent: what matters to the person who waits is told on the terminal. */
  readonly logger: Logger;
}

const embeddedUrl = async (dataDir: string): Promise<string> => {
  let url: string | null;
  try {
    url = await runningPostgresUrl(dataDir);
  } catch (error) {
    throw explainDataDir(error, dataDir, 'DATABASE_URL');
  }
  if (url !== null) return url;
  throw new CliError(
    'NO_DATABASE',
    `no embedded PostgreSQL runs in ${dataDir}; start the service with "npm start", ` +
      'or set DATABASE_URL to the one that it uses',
  );
};

/** Runs `work`; a PostgreSQL that it cannot use is a line for a person. @throws CliError */
export const withConnection = async <Result>(
  url: string,
  work: () => Promise<Result>,
): Promise<Result> => {
  try {
    return await work();
  } catch (cause) {
    const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
    if (!isConnectionError(first)) throw cause;
    // The host only: the rest of the URL is secret.
    const message = `PostgreSQL at ${new URL(url).host} cannot be used: ${messageOf(cause)}`;
    throw new CliError('NO_DATABASE', message, { cause });
  }
};

/**
 * Runs `work` on the database of the service, past the service itself.
 *
 * @throws CliError; DatabaseTooOld and DatabaseTooNew
 */
export const withDatabase = async <Result>(
  { databaseUrl, dataDir }: Config,
  work: (database: Database) => Promise<Result>,
): Promise<Result> => {
  const url = databaseUrl ?? (await embeddedUrl(dataDir));
  const logger = createLogger('silent');
  const pool = createPool({ url, name: 'cli', max: 6, logger });
  try {
    return await withConnection(url, async () => {
      await requireMigrated(pool);
      const { log, outbox } = await openPostgresLog({ pool, url, logger });
      try {
        return await work({ pool, log, outbox, logger });
      } finally {
        await log.close();
      }
    });
  } finally {
    await pool.end();
  }
};
