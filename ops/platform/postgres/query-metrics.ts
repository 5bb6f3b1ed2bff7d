import { withinDeadline } from '../concurrency/deadline.js';
import type { Logger } from '../logging.js';
import type { Figure, Gauges } from '../metrics/figure.js';
import type { Pool } from './pool.js';

/** Shorter than the timeout of a scrape (ms). */
const timeoutMs = 1_500;

/**
 * Exposes columns of the only row of a query. Every process exposes the same values. A NULL, and all columns while
 * PostgreSQL is unavailable, have no sample.
 */
export const measureQuery = <Column extends string>(
  metrics: Gauges,
  options: {
    readonly pool: Pool;
    readonly text: string;
    readonly gauges: Readonly<Record<Column, Pick<Figure, 'name' | 'help'>>>;
    readonly logger: Logger;
  },
): void => {
  const { pool, text, gauges, logger } = options;
  type Row = Readonly<Record<string, number | null>>;
  let running: Promise<Row> | null = null;

  const query = async (): Promise<Row> => {
    try {
      const { rows } = await withinDeadline(timeoutMs, () => pool.query<Row>(text));
      return rows[0] ?? {};
    } catch (err) {
      // `linklog_dependency_up` reports it.
      logger.debug({ err }, 'metrics could not be read from postgres');
      return {};
    }
  };
  /** The gauges of a response share a query. */
  const row = (): Promise<Row> => {
    running ??= query().finally(() => {
      running = null;
    });
    return running;
  };
  for (const [column, figure] of Object.entries<Pick<Figure, 'name' | 'help'>>(gauges)) {
    metrics.gauge({
      ...figure,
      shared: true,
      read: async () => {
        const value = (await row())[column] ?? null;
        return value === null ? [] : [[{}, value]];
      },
    });
  }
};

/** Measures the connections of all clients of the server. `pg_stat_activity` hides sessions of other roles. */
export const measureServer = (metrics: Gauges, pool: Pool, logger: Logger): void => {
  measureQuery(metrics, {
    ...{ pool, logger },
    text: `SELECT (SELECT sum(numbackends)::int FROM pg_stat_database) AS used,
                  current_setting('max_connections')::int
                  - current_setting('superuser_reserved_connections')::int AS max`,
    gauges: {
      used: {
        name: 'linklog_postgres_connections',
        help: 'Connections to the PostgreSQL server, of all its clients',
      },
      max: {
        name: 'linklog_postgres_max_connections',
        help: 'Maximum number of these connections, without those that are reserved for superusers',
      },
    },
  });
};
