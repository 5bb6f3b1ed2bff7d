import { publishedAddresses } from '../../app/data-dir.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { openEventLog } from '../../app/event-log.js';
import { requireMigrated } from '../../migrations/migrate.js';
import { readConfig, type Config } from '../../platform/config/config.js';
import type { EventLog } from '../../platform/event-log/port.js';
import type { Outbox, OutboxDelivery } from '../../platform/outbox/port.js';
import { createLogger, type Logger } from '../../platform/logging.js';
import { listenToPostgres } from '../../platform/postgres/listener.js';
import { createPool, isConnectionError, type Pool } from '../../platform/postgres/pool.js';
import { explainDataDir } from './data-dir-errors.js';
import { CliError, messageOf } from './errors.js';

export interface Database {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
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

/** Of the environment, or of the stack that runs in this data directory with a Kafka of its own. */
const kafkaOf = ({ kafka, dataDir }: Config): Config['kafka'] => {
  if (kafka !== null) return kafka;
  const brokers = publishedAddresses(dataDir)?.kafka;
  return brokers === undefined ? null : readConfig({ KAFKA_BROKERS: brokers }).kafka;
};

/**
 * Runs `work` on the database of the service, past the service itself; `patient` where its statements
 * may take long.
 *
 * @throws CliError; DatabaseTooOld and DatabaseTooNew
 */
export const withDatabase = async <Result>(
  config: Config,
  work: (database: Database) => Promise<Result>,
  { patient = false }: { readonly patient?: boolean } = {},
): Promise<Result> => {
  const { databaseUrl, dataDir } = config;
  const url = databaseUrl ?? (await embeddedUrl(dataDir));
  const logger = createLogger('silent');
  const pool = createPool({ url, name: 'cli', max: 10, patient, logger });
  try {
    return await withConnection(url, async () => {
      await requireMigrated(pool);
      const listener = listenToPostgres(url, ['linklog_log', 'linklog_sent'], logger);
      try {
        const options = { pool, url, listener, logger, readOnly: true };
        const opened = await openEventLog({ kafka: kafkaOf(config) }, options);
        try {
          await opened.untilAnswering();
          return await work({ pool, ...opened, logger });
        } finally {
          await opened.close();
        }
      } finally {
        await listener.close();
      }
    });
  } finally {
    await pool.end();
  }
};
