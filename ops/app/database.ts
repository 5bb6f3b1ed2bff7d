import { startEmbeddedPostgres } from '../local/postgres/index.js';
import { keepRunning } from '../local/process/keep-running.js';
import { migrate } from '../migrations/migrate.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../platform/logging.js';
import type { Gauges } from '../platform/metrics/figure.js';
import { namingDatabaseUrl } from '../platform/postgres/connection-fault.js';
import { requireNotifications, type Channel } from '../platform/postgres/listener.js';
import { createPool } from '../platform/postgres/pool.js';
import type { Tracer } from '../platform/tracing.js';
import { connectDatabase } from './connections.js';
import { keepErasingDeletedKeys } from './deleted-keys.js';
import { startInOrder } from '../platform/process/start-in-order.js';

/** @throws ConfigError or Error that names DATABASE_URL, if PostgreSQL is unsuitable or unreachable */
const prepare = async (url: string, isEmbedded: boolean, logger: Logger): Promise<void> => {
  const pool = createPool({ url, name: 'migrate', max: 2, deadlines: 'patient', logger });
  try {
    if (!isEmbedded) await requireNotifications(url);
    await migrate(pool);
  } catch (cause) {
    throw isEmbedded ? cause : namingDatabaseUrl(cause);
  } finally {
    await pool.end();
  }
};

/**
 * Connects to the configured or the embedded PostgreSQL and migrates it. The embedded PostgreSQL is restarted whenever
 * it exits unexpectedly, as on a full disk.
 */
export const openDatabase = ({
  config,
  channels,
  metrics,
  tracer,
  logger,
}: {
  readonly config: Pick<Config, 'databaseUrl' | 'dataDir'>;
  readonly channels: readonly Channel[];
  readonly metrics: Gauges;
  readonly tracer: Tracer | null;
  readonly logger: Logger;
}) =>
  startInOrder(logger, async (onStop) => {
    const { databaseUrl, dataDir } = config;
    const embedded = databaseUrl === null ? await startEmbeddedPostgres({ dataDir, logger }) : null;
    onStop(() => embedded?.stop());
    const url = embedded?.nearestUrl ?? databaseUrl ?? '';
    await prepare(url, embedded !== null, logger);
    if (embedded) {
      const stopping = new AbortController();
      keepRunning(embedded, { name: 'PostgreSQL', signal: stopping.signal, logger });
      onStop(() => {
        stopping.abort();
      });
      const erasing = keepErasingDeletedKeys(url, logger);
      onStop(() => erasing.stop());
    }
    const database = connectDatabase({ url, channels, metrics, tracer, logger });
    onStop(() => database.stop());
    return database;
  });
