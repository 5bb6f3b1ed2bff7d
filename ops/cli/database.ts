import { publishedAddresses } from '../data-dir.js';
import { runningPostgresUrl } from '../embedded/index.js';
import { openLogToRead } from '../event-log.js';
import { requireMigrated } from '../migrations/migrate.js';
import { readConfig, type Config } from '../platform/config.js';
import type { KafkaSettings } from '../platform/event-log/kafka/settings.js';
import type { EventLog } from '../platform/event-log/port.js';
import { createLogger, type Logger } from '../platform/logging.js';
import { createPool, isConnectionError, type Pool } from '../platform/postgres/pool.js';
import { explainDataDir } from './data-dir-errors.js';
import { CliError, messageOf } from './errors.js';

export interface Database {
  readonly pool: Pool;
  readonly log: EventLog;
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

/** Of the environment, or of the stack that runs in this data directory with a Kafka of its own. */
const kafkaOf = ({ kafka, dataDir }: Config): KafkaSettings | null => {
  if (kafka !== null) return kafka;
  const brokers = publishedAddresses(dataDir)?.kafka;
  return brokers === undefined ? null : readConfig({ KAFKA_BROKERS: brokers }).kafka;
};

/**
 * Runs `work` on the database of the service, past the service itself.
 *
 * @throws CliError; DatabaseTooOld and DatabaseTooNew
 */
export const withDatabase = async <Result>(
  config: Config,
  work: (database: Database) => Promise<Result>,
): Promise<Result> => {
  const url = config.databaseUrl ?? (await embeddedUrl(config.dataDir));
  const logger = createLogger('silent');
  const pool = createPool({ url, name: 'cli', max: 6, logger });
  try {
    await requireMigrated(pool);
    const log = await openLogToRead(kafkaOf(config), { pool, url, logger });
    try {
      return await work({ pool, log, logger });
    } finally {
      await log.close();
    }
  } catch (cause) {
    const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
    if (!isConnectionError(first)) throw cause;
    // The host only: the rest of the URL is secret.
    const message = `PostgreSQL at ${new URL(url).host} cannot be used: ${messageOf(cause)}`;
    throw new CliError('NO_DATABASE', message, { cause });
  } finally {
    await pool.end();
  }
};
