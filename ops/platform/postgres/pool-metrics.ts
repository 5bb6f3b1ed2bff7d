import type { Metrics, Sample } from '../metrics/metrics.js';
import type { Pool } from './pool.js';

export interface PoolMetrics {
  /** From now on this pool is told of by its name. */
  add(name: string, pool: Pool): void;
}

/** How far the pools of a process are used. */
export const createPoolMetrics = (metrics: Metrics): PoolMetrics => {
  const pools: { readonly name: string; readonly pool: Pool }[] = [];
  const each = (of: (pool: Pool) => number) => (): readonly Sample[] =>
    pools.map(({ name, pool }) => [{ pool: name }, of(pool)]);
  const labels = ['pool'];
  metrics.gauge({
    name: 'linklog_postgres_pool_connections',
    help: 'Connections to PostgreSQL, idle ones included',
    labels,
    read: each((pool) => pool.totalCount),
  });
  metrics.gauge({
    name: 'linklog_postgres_pool_idle_connections',
    help: 'Connections to PostgreSQL that nobody uses at the moment',
    labels,
    read: each((pool) => pool.idleCount),
  });
  metrics.gauge({
    name: 'linklog_postgres_pool_max_connections',
    help: 'Connections to PostgreSQL at most',
    labels,
    read: each((pool) => pool.options.max),
  });
  metrics.gauge({
    name: 'linklog_postgres_pool_waiting_requests',
    help: 'Who waits for a connection to PostgreSQL',
    labels,
    read: each((pool) => pool.waitingCount),
  });
  return {
    add(name, pool) {
      pools.push({ name, pool });
    },
  };
};
