import { topicNames } from '../../../schemas/events/topics.js';
import { openDataDir } from '../../app/data-dir.js';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { migrate } from '../../migrations/migrate.js';
import { refuseUnfinishedRestore } from '../../migrations/unfinished-restore.js';
import type { Config } from '../../platform/config/config.js';
import type { EventLog } from '../../platform/event-log/port.js';
import { createLogger } from '../../platform/logging.js';
import type { Pool, Queryable } from '../../platform/postgres/pool.js';
import { withLog, type Database } from './database.js';
import { CliError } from './errors.js';

const notEmpty = (where: string): CliError =>
  new CliError(
    'REFUSED',
    `${where} is not empty: restore needs a new installation, on which no service was started yet ` +
      '(the first start makes a key)',
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
 * Runs `work` on the database and the log of a new installation, while no service runs on it: on the
 * embedded PostgreSQL, which is started for this, or on DATABASE_URL; on the embedded log, or on
 * KAFKA_BROKERS.
 *
 * @throws LockHeld, CliError, RestoreUnfinished, DatabaseTooNew, ConfigError
 */
export const withNewInstallation = async <Result>(
  { dataDir, databaseUrl, kafka }: Config,
  work: (database: Database) => Promise<Result>,
): Promise<Result> => {
  const held = await openDataDir(dataDir);
  try {
    const logger = createLogger('silent');
    const postgres = databaseUrl === null ? await startEmbeddedPostgres({ dataDir, logger }) : null;
    const url = postgres?.url ?? databaseUrl ?? '';
    const where = postgres ? `DATA_DIR ${dataDir}` : `the database of DATABASE_URL`;
    try {
      const options = { url, name: 'restore', max: 6, patient: true, kafka, readOnly: false };
      const prepare = async (pool: Pool): Promise<void> => {
        await requireUnused(pool, where);
        await migrate(pool);
      };
      return await withLog({ ...options, prepare }, async (database) => {
        await requireEmptyLog(database.log, kafka ? 'the log at KAFKA_BROKERS' : where);
        return work(database);
      });
    } finally {
      await postgres?.stop();
    }
  } finally {
    held.release();
  }
};
