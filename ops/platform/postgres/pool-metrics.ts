import type { Gauges } from '../metrics/figure.js';
import type { Pool } from './pool.js';

export const measurePool = (metrics: Gauges, name: string, pool: Pool): void => {
  const gauge = (metric: string, help: string, value: () => number): void => {
    metrics.gauge({
      name: metric,
      help,
      labels: ['pool'],
      read: () => [[{ pool: name }, value()]],
    });
  };
  gauge(
    'linklog_postgres_pool_connections',
    'Connections to PostgreSQL, idle ones included',
    () => pool.totalCount,
  );
  gauge(
    'linklog_postgres_pool_idle_connections',
    'Idle connections to PostgreSQL',
    () => pool.idleCount,
  );
  gauge(
    'linklog_postgres_pool_max_connections',
    'Maximum number of connections to PostgreSQL',
    () => pool.options.max,
  );
  gauge(
    'linklog_postgres_pool_waiting_requests',
    'Requests that wait for a connection to PostgreSQL',
    () => pool.waitingCount,
  );
};
