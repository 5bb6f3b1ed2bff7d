import { createOutageLog, type Logger } from '../platform/logging.js';
import type { Gauges } from '../platform/metrics/figure.js';
import type { DeadlineName } from '../platform/postgres/deadlines.js';
import { listenToPostgres, type Channel } from '../platform/postgres/listener.js';
import { createPool, type Pool, type WatchedPool } from '../platform/postgres/pool.js';
import { Silence } from '../platform/postgres/silence.js';
import type { Tracer } from '../platform/tracing.js';
import type { Redis } from 'ioredis';
import type { Config } from '../config/config.js';

/** Connects a thread to PostgreSQL: pools, and a listener whose pings detect an unresponsive server. */
export const connectDatabase = ({
  url,
  channels,
  metrics,
  tracer,
  logger,
}: {
  readonly url: string;
  /** Each channel costs PostgreSQL and this thread work for every notification. */
  readonly channels: readonly Channel[];
  readonly metrics: Gauges;
  readonly tracer: Tracer | null;
  readonly logger: Logger;
}) => {
  const pools: WatchedPool[] = [];
  const silence = new Silence(logger);
  const listener = listenToPostgres(url, channels, logger, silence);
  let lostAt: number | null = null;
  listener.onGap((state) => {
    if (state === 'lost') lostAt ??= performance.now();
    else if (lostAt !== null) {
      for (const pool of pools) pool.closeLostBefore(lostAt);
      lostAt = null;
    }
  });
  return {
    url,
    listener,
    pool(name: string, max: number, deadlines: DeadlineName, plansByKey = false): Pool {
      const pool = createPool({
        ...{ url, name, max, deadlines, plansByKey, silence, tracer, logger },
      });
      pools.push(pool);
      measurePool(metrics, name, pool);
      return pool;
    },
    async stop(): Promise<void> {
      await listener.close();
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
};

export type Database = Omit<ReturnType<typeof connectDatabase>, 'stop'>;

/** The gauges of each pool, by the end of their names. */
const poolGauges: Readonly<Record<string, readonly [help: string, read: (pool: Pool) => number]>> =
  {
    connections: ['Connections to PostgreSQL, idle ones included', ({ totalCount }) => totalCount],
    idle_connections: ['Idle connections to PostgreSQL', ({ idleCount }) => idleCount],
    max_connections: ['Maximum number of connections to PostgreSQL', ({ options }) => options.max],
    waiting_requests: [
      'Requests that wait for a connection to PostgreSQL',
      ({ waitingCount }) => waitingCount,
    ],
  };

const measurePool = (metrics: Gauges, pool: string, measured: Pool): void => {
  for (const [end, [help, read]] of Object.entries(poolGauges)) {
    metrics.gauge({
      ...{ name: `linklog_postgres_pool_${end}`, help, labels: ['pool'] },
      read: () => [[{ pool }, read(measured)]],
    });
  }
};

/** How long a connection may wait for a response before it is replaced (ms). */
const silentMs = 1_000;
const reconnectDelayMs = 500;

/** Opens a client that connects in the background and rejects commands while Redis is unreachable. */
export const openRedis = async (url: string, logger: Logger): Promise<Redis> => {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    connectionName: 'linklog',
    connectTimeout: 2_000,
    socketTimeout: silentMs,
    retryStrategy: () => reconnectDelayMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
  const message = 'the connection to Redis was lost';
  const outage = createOutageLog(logger, message, 'the connection to Redis is back');
  redis.on('error', outage.failed);
  redis.on('ready', outage.recovered);
  return redis;
};

/** The tracer of a process or thread; `null` without a collector, and then the SDK is not loaded. */
export const openTracer = async (
  tracing: Config['tracing'],
  logger: Logger,
): Promise<Tracer | null> => {
  if (!tracing) return null;
  const { createOpenTelemetryTracer } = await import('../platform/opentelemetry.js');
  return createOpenTelemetryTracer({ ...tracing, serviceName: 'linklog', logger });
};
