import type { Metrics } from '../metrics/metrics.js';
import type { Pool } from './pool.js';

/** Measures how far the pools of a process are used. @returns how to add one */
export const measurePools = (metrics: Metrics): ((name: string, pool: Pool) => void) => {
  const pools: { readonly name: string; readonly pool: Pool }[] = [];
  const gauge = (name: string, help: string, of: (pool: Pool) => number): void => {
    metrics.gauge({
      name,
      help,
      labels: ['pool'],
      read: () => pools.map(({ name: pool, pool: measured }) => [{ pool }, of(measured)]),
    });
  };
  gauge(
    'linklog_postgres_pool_connections',
    'Connections to PostgreSQL, idle ones included',
    (pool) => pool.totalCount,
  );
  gauge(
    'linklog_postgres_pool_idle_connections',
    'Connections to PostgreSQL that nobody uses at the moment',
    (pool) => pool.idleCount,
  );
  gauge(
    'linklog_postgres_pool_max_connections',
    'Connections to PostgreSQL at most',
    (pool) => pool.options.max,
  );
  gauge(
    'linklog_postgres_pool_waiting_requests',
    'Who waits for a connection to PostgreSQL',
    (pool) => pool.waitingCount,
  );
  return (name, pool) => {
    pools.push({ name, pool });
  };
};
