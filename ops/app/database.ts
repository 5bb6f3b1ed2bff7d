import { startEmbeddedPostgres } from '../local/postgres/index.js';
import { migrate } from '../migrations/migrate.js';
import { never } from '../platform/concurrency/deferred.js';
import type { Config } from '../platform/config/config.js';
import type { Logger } from '../platform/logging.js';
import type { Metrics } from '../platform/metrics/metrics.js';
import { isAway } from '../platform/postgres/away.js';
import type { DeadlineName } from '../platform/postgres/deadlines.js';
import { listenToPostgres } from '../platform/postgres/listener.js';
import { measurePools } from '../platform/postgres/pool-metrics.js';
import { createPool, type Pool } from '../platform/postgres/pool.js';
import { Silence } from '../platform/postgres/silence.js';
import { startInOrder } from './start-in-order.js';

/** @throws Error that names DATABASE_URL where the configured PostgreSQL cannot be reached */
const migrateFirst = async (url: string, isEmbedded: boolean, logger: Logger): Promise<void> => {
  const pool = createPool({ url, name: 'migrate', max: 2, deadlines: 'patient', logger });
  try {
    await migrate(pool);
  } catch (cause) {
    if (isEmbedded || !isAway(cause)) throw cause;
    const reason = (cause as Error).message;
    throw new Error(`DATABASE_URL: PostgreSQL cannot be reached: ${reason}`, { cause });
  } finally {
    await pool.end();
  }
};

/** Opens PostgreSQL, the embedded one unless another is configured, and migrates it. */
export const openDatabase = ({
  config,
  metrics,
  logger,
}: {
  readonly config: Pick<Config, 'databaseUrl' | 'dataDir'>;
  readonly metrics: Metrics;
  readonly logger: Logger;
}) =>
  startInOrder(logger, async (onStop) => {
    const { databaseUrl, dataDir } = config;
    const embedded = databaseUrl === null ? await startEmbeddedPostgres({ dataDir, logger }) : null;
    onStop(() => embedded?.stop());
    const url = embedded?.url ?? databaseUrl ?? '';
    await migrateFirst(url, embedded !== null, logger);

    const pools: Pool[] = [];
    const addPool = measurePools(metrics);
    onStop(async () => {
      await Promise.all(pools.map((pool) => pool.end()));
    });
    const channels = ['linklog_changes', 'linklog_log', 'linklog_sent'] as const;
    const silence = new Silence(logger);
    const listener = listenToPostgres(url, channels, logger, silence);
    onStop(() => listener.close());
    return {
      url,
      listener,
      /** Opens a pool, which ends with the database. `name` is the metrics' label. */
      pool(name: string, max: number, deadlines: DeadlineName): Pool {
        const pool = createPool({ url, name, max, deadlines, silence, logger });
        pools.push(pool);
        addPool(name, pool);
        return pool;
      },
      /** Never resolves; rejects when the embedded PostgreSQL ends by itself. */
      failed:
        embedded?.exited.then((exit) => {
          if (exit.status === 'stopped') return never;
          throw new Error(`The embedded PostgreSQL died (${exit.reason}):\n${exit.output}`);
        }) ?? never,
    };
  });

export type Database = Awaited<ReturnType<typeof openDatabase>>;
