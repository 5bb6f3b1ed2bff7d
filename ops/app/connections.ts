import type { Logger } from '../platform/logging.js';
import type { Gauges } from '../platform/metrics/figure.js';
import type { DeadlineName } from '../platform/postgres/deadlines.js';
import { listenToPostgres, type Channel } from '../platform/postgres/listener.js';
import { measurePool } from '../platform/postgres/pool-metrics.js';
import { createPool, type Pool, type WatchedPool } from '../platform/postgres/pool.js';
import { Silence } from '../platform/postgres/silence.js';
import type { Tracer } from '../platform/tracing.js';

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
