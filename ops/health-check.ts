import { setTimeout as sleep } from 'node:timers/promises';
import type { HealthCheck, HealthReport } from './platform/health.js';
import type { Logger } from './platform/logging.js';
import type { Queryable } from './platform/postgres/pool.js';

const timeoutMs = 1_500;
/** Anybody may ask, so one look serves all who ask at about the same time. */
const rememberMs = 500;

type Projections = HealthReport['projections'];

/** Looks at PostgreSQL, the projections and the spool; see `HealthCheck`. */
export const createHealthCheck = (deps: {
  readonly postgres: Queryable;
  readonly projections: () => Promise<Projections>;
  readonly spool: () => HealthReport['spool'];
  readonly logger: Logger;
}): HealthCheck => {
  const within = async <Value>(what: string, look: () => Promise<Value>): Promise<Value | null> => {
    const late = new AbortController();
    try {
      return await Promise.race([
        look(),
        sleep(timeoutMs, null, { signal: late.signal, ref: false }),
      ]);
    } catch (err) {
      deps.logger.warn({ err, what }, 'a dependency is down');
      return null;
    } finally {
      late.abort();
    }
  };

  const look = async (): Promise<HealthReport> => {
    const [postgres, projections] = await Promise.all([
      within('postgres', () => deps.postgres.query('SELECT 1')),
      within('projections', deps.projections),
    ]);
    const up = postgres !== null && projections !== null;
    const state = up ? 'up' : 'down';
    return {
      status: up ? 'pass' : 'fail',
      dependencies: { postgres: state, log: state },
      projections: projections ?? [],
      spool: deps.spool(),
    };
  };

  let last: { readonly at: number; readonly report: Promise<HealthReport> } | null = null;
  return () => {
    if (!last || performance.now() - last.at > rememberMs) {
      last = { at: performance.now(), report: look() };
    }
    return last.report;
  };
};
