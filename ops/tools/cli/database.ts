import { topicNames } from '../../../schemas/events/topics.js';
import { subjectOf } from '../../../schemas/link-subject.js';
import { pastedLink } from '../../../schemas/pasted-code.js';
import { readKnownDomains } from '../../ledger/domains.js';
import { readPlatform } from '../../ledger/platform.js';
import { openDataDir, publishedAddresses } from '../../app/data-dir.js';
import { openEventLog, type OpenedLog } from '../../app/event-log.js';
import { runningPostgresUrl, startEmbeddedPostgres } from '../../local/postgres/index.js';
import { migrate, refuseUnfinishedRestore, requireMigrated } from '../../migrations/migrate.js';
import { readConfig, type Config } from '../../config/config.js';
import type { EventLog } from '../../event-log/port.js';
import { createLogger, type Logger } from '../../platform/logging.js';
import { listenToPostgres } from '../../platform/postgres/listener.js';
import { isUnavailable } from '../../platform/error-codes.js';
import type { DeadlineName } from '../../platform/postgres/deadlines.js';
import { namingDatabaseUrl } from '../../platform/postgres/connection-fault.js';
import { hostsOf } from '../../platform/postgres/connection-url.js';
import { createPool, type Pool, type Queryable } from '../../platform/postgres/pool.js';
import { CliError, explainDataDir, messageOf } from './errors.js';
import { interruptible, showProgress, untilReaderExits, type Interruption } from './long-work.js';

export interface CommandDatabase extends Pick<
  OpenedLog,
  'log' | 'outbox' | 'findUnknownEvent' | 'findFaults' | 'topicSettings'
> {
  readonly pool: Pool;
  /** Silent, because the command reports on the terminal. */
  readonly logger: Logger;
}

const embeddedUrl = async (dataDir: string): Promise<string> => {
  const url = await runningPostgresUrl(dataDir).catch((error: unknown) => {
    throw explainDataDir(error, dataDir, 'DATABASE_URL');
  });
  if (url !== null) return url;
  throw new CliError(
    'NO_DATABASE',
    `no embedded PostgreSQL runs in DATA_DIR ${dataDir}: start the service, ` +
      'or set DATA_DIR to its data directory, or DATABASE_URL to its database',
  );
};

/** Returns KAFKA_BROKERS, or the Kafka of the stack that runs in this data directory. */
const kafkaOf = async ({ kafka, dataDir }: Config): Promise<Config['kafka']> => {
  if (kafka !== null) return kafka;
  const brokers = (await publishedAddresses(dataDir))?.kafka;
  return brokers === undefined ? null : readConfig({ KAFKA_BROKERS: brokers }).kafka;
};

type Connections = Omit<Parameters<typeof createPool>[0], 'logger'>;

interface PoolOptions {
  readonly isEmbedded: boolean;
  readonly prepare: (pool: Pool) => Promise<void>;
}

interface LogOptions extends PoolOptions {
  readonly kafka: Config['kafka'];
  readonly user: 'command' | 'restore';
  /** See `withDatabase`. */
  readonly needsLog: boolean;
}

/**
 * Connects to PostgreSQL, and runs `prepare` and `work` on it.
 *
 * @throws CliError, or an error that names DATABASE_URL, if PostgreSQL is unavailable or unsuitable
 */
const withPool = async <Result>(
  connections: Connections,
  { isEmbedded, prepare }: PoolOptions,
  work: (pool: Pool, logger: Logger) => Promise<Result>,
): Promise<Result> => {
  const logger = createLogger('silent');
  const pool = createPool({ ...connections, logger });
  try {
    await prepare(pool);
    return await work(pool, logger);
  } catch (cause) {
    const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
    if (!isEmbedded) throw namingDatabaseUrl(first);
    if (!isUnavailable(first)) throw cause;
    const message = `PostgreSQL at ${hostsOf(connections.url)} cannot be used: ${messageOf(cause)}`;
    throw new CliError('NO_DATABASE', message, { cause });
  } finally {
    await pool.end();
  }
};

/** Opens the log, too. */
const withLog = <Result>(
  connections: Connections,
  options: LogOptions,
  work: (database: CommandDatabase) => Promise<Result>,
): Promise<Result> =>
  withPool(connections, options, async (pool, logger) => {
    const { url } = connections;
    const { kafka, user, needsLog } = options;
    const listener = listenToPostgres(url, ['linklog_log', 'linklog_sent'], logger);
    try {
      const opened = await openEventLog({ kafka }, { pool, url, listener, logger, user });
      try {
        if (needsLog) await opened.untilAvailable();
        return await work({ pool, ...opened, logger });
      } finally {
        await opened.close();
      }
    } finally {
      await listener.close();
    }
  });

/** The database of the service, which runs or does not. */
const serviceDatabase = async ({ databaseUrl, dataDir }: Config, deadlines: DeadlineName) => ({
  connections: {
    url: databaseUrl ?? (await embeddedUrl(dataDir)),
    name: 'cli',
    max: 10,
    deadlines,
  },
  options: { isEmbedded: databaseUrl === null, prepare: requireMigrated },
});

/** Runs `work` on the service's database directly, without the service and the log. @throws as `withDatabase` */
export const withTables = async <Result>(
  config: Config,
  work: (pool: Pool) => Promise<Result>,
): Promise<Result> => {
  const { connections, options } = await serviceDatabase(config, 'background');
  return withPool(connections, options, work);
};

interface DatabaseOptions {
  readonly deadlines?: DeadlineName;
  /** `false`: begins while Kafka does not respond, too. Default: waits for it up to 30 s. */
  readonly needsLog?: boolean;
}

/**
 * Runs `work` on the service's database directly, without the service.
 *
 * @throws CliError; DatabaseTooOld and DatabaseTooNew
 */
export const withDatabase = async <Result>(
  config: Config,
  work: (database: CommandDatabase) => Promise<Result>,
  { deadlines = 'background', needsLog = true }: DatabaseOptions = {},
): Promise<Result> => {
  const { connections, options } = await serviceDatabase(config, deadlines);
  const kafka = await kafkaOf(config);
  return withLog(connections, { ...options, kafka, user: 'command', needsLog }, work);
};

/** The subject of the link that a text names: see `pastedLink`. */
export const subjectNamed = async (
  pool: Pool,
  { shortUrlHost }: Config,
  text: string,
): Promise<string> => {
  const isActive = async (name: string): Promise<boolean> =>
    (await readKnownDomains(pool, [name])).some(({ account }) => account !== null);
  const link = await pastedLink(text, { shortUrlHost, isActive });
  const { domain } = link;
  const known =
    domain === null ? [await readPlatform(pool)] : await readKnownDomains(pool, [domain]);
  return subjectOf(link, () => known.some(({ caseInsensitive }) => caseInsensitive));
};

export interface LongWork extends CommandDatabase {
  readonly progress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

export const runOnDatabase = <Result>(
  config: Config,
  options: Interruption &
    DatabaseOptions & {
      /** The title of the progress bar; `null` for none. */
      readonly title: string | null;
    },
  work: (database: LongWork) => Promise<Result>,
): Promise<Result> =>
  interruptible(options, (signal) =>
    withDatabase(
      config,
      async (database) => {
        const bar = options.title === null ? null : showProgress(options.title);
        const progress: LongWork['progress'] = (done, total) => bar?.update(done, total);
        try {
          return await work({ ...database, progress, signal });
        } finally {
          bar?.stop();
        }
      },
      options,
    ),
  );

/** Runs work that writes to stdout. The exit of its reader ends the work, which is a success. */
export const writeFromDatabase = (
  config: Config,
  options: Parameters<typeof runOnDatabase>[1],
  work: (database: LongWork) => Promise<void>,
): Promise<void> =>
  untilReaderExits((readerExited) =>
    runOnDatabase(config, options, (database) =>
      work({ ...database, signal: AbortSignal.any([readerExited, database.signal]) }),
    ),
  );

const notEmpty = (where: string): CliError =>
  new CliError(
    'REFUSED',
    `${where} is not empty: restore requires a new installation, on which no service was started yet ` +
      '(the first start creates a key)',
  );

const requireUnused = async (client: Queryable, where: string): Promise<void> => {
  await refuseUnfinishedRestore(client);
  const { rows: others } = await client.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND application_name LIKE 'linklog %' AND application_name <> 'linklog restore'`,
  );
  if (others.length > 0) {
    throw new CliError('REFUSED', `${where} is in use by a running service: stop it first`);
  }
  const { rows } = await client.query<{ ledger: boolean }>(
    `SELECT to_regclass('ledger.api_keys') IS NOT NULL AS ledger`,
  );
  if (rows[0]?.ledger !== true) return;
  const { rows: keys } = await client.query('SELECT FROM ledger.api_keys LIMIT 1');
  if (keys.length > 0) throw notEmpty(where);
};

const requireEmptyLog = async (log: EventLog, where: string): Promise<void> => {
  for (const topic of topicNames) {
    const ranges = await log.ranges(topic);
    if (ranges.some(({ next }) => next > 0)) throw notEmpty(where);
  }
};

/**
 * Runs `work` on the database and the log of a new installation without a running service. The embedded PostgreSQL is
 * started for it unless DATABASE_URL is set.
 *
 * @throws LockHeld, CliError, RestoreUnfinished, DatabaseTooNew, ConfigError
 */
export const withNewInstallation = async <Result>(
  { dataDir, databaseUrl, kafka }: Config,
  work: (database: CommandDatabase) => Promise<Result>,
): Promise<Result> => {
  const lockedDir = await openDataDir(dataDir);
  try {
    const logger = createLogger('silent');
    const postgres = databaseUrl === null ? await startEmbeddedPostgres({ dataDir, logger }) : null;
    const url = postgres?.url ?? databaseUrl ?? '';
    const where = postgres ? `DATA_DIR ${dataDir}` : `the database of DATABASE_URL`;
    try {
      const connections = { url, name: 'restore', max: 10, deadlines: 'patient' as const };
      const prepare = async (pool: Pool): Promise<void> => {
        await requireUnused(pool, where);
        await migrate(pool);
      };
      const isEmbedded = postgres !== null;
      const options = { kafka, user: 'restore', isEmbedded, needsLog: true, prepare } as const;
      return await withLog(connections, options, async (database) => {
        await requireEmptyLog(database.log, kafka ? 'the log at KAFKA_BROKERS' : where);
        return work(database);
      });
    } finally {
      await postgres?.stop();
    }
  } finally {
    lockedDir.release();
  }
};
