import { hostname } from 'node:os';
import type { Config } from '../config/config.js';
import { requireGeneration } from '../migrations/migrate.js';
import { deferred, firstFailure } from '../platform/concurrency/deferred.js';
import { periodically } from '../platform/concurrency/periodic.js';
import { isUnavailable } from '../platform/error-codes.js';
import { ConfigError } from '../platform/errors.js';
import { linklogVersion } from '../platform/files/project-file.js';
import type { Logger } from '../platform/logging.js';
import type { Gauges } from '../platform/metrics/figure.js';
import { newId } from '../platform/new-id.js';
import { generation } from '../platform/postgres/generation.js';
import type { Pool } from '../platform/postgres/pool.js';
import { requireCodesCase } from './codes-case.js';
import { createProcessWatch } from './process-watch.js';
import type { Role } from './roles.js';

const version = linklogVersion();

/** Interval of the checks of the generation (ms). Writes are refused in between. */
const checkEveryMs = 5_000;
/** A process that was not seen for this time has ended. */
const lifetime = '1 minute';

/** Removes the rows of ended processes. */
const register = (pool: Pool, id: string, roles: ReadonlySet<Role>, startedAt: Date) =>
  pool.query({
    name: 'register-process',
    text: `WITH ended AS (
             DELETE FROM public.processes
             WHERE last_seen_at < clock_timestamp() - interval '${lifetime}' AND id <> $1
           )
           INSERT INTO public.processes
             (id, version, generation, services, host, pid, started_at, last_seen_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
           ON CONFLICT (id) DO UPDATE SET last_seen_at = excluded.last_seen_at`,
    values: [
      ...[id, version, generation, [...roles].join(', ')],
      ...[hostname(), process.pid, startedAt],
    ],
  });

/**
 * Registers this process in `public.processes` when its services run, and checks the generation of the tables, CODES_CASE
 * and the other processes.
 */
export const registerProcess = (deps: {
  readonly pool: Pool;
  readonly roles: ReadonlySet<Role>;
  readonly codesCase: Config['codesCase'];
  readonly metrics: Gauges;
  readonly logger: Logger;
}) => {
  const { pool, roles, codesCase, logger } = deps;
  const watch = createProcessWatch(deps);
  const id = newId();
  const startedAt = new Date();
  const failure = deferred<never>();
  const failed = firstFailure([failure.promise]);

  let isRunning = false;
  const check = async (): Promise<void> => {
    try {
      await requireGeneration(pool);
      await requireCodesCase(pool, codesCase);
      if (isRunning) await register(pool, id, roles, startedAt);
      await watch.check();
    } catch (err) {
      if (err instanceof ConfigError) failure.reject(err);
      // Other users of PostgreSQL report that it is unavailable.
      else if (isUnavailable(err)) logger.debug({ err }, 'this process cannot be registered');
      else throw err;
    }
  };
  const name = 'register the process';
  const task = periodically({ name, everyMs: checkEveryMs, task: check, logger });
  return {
    /** Never resolves. Rejects with a ConfigError if the tables have a later generation, or another CODES_CASE. */
    failed,
    /** See `createProcessWatch`. */
    requireProjectors: watch.requireProjectors,
    /** Call it when the services run: a process that ends at its start never counts. */
    start(): Promise<void> {
      isRunning = true;
      return check();
    },
    async stop(): Promise<void> {
      await task.stop();
      try {
        await pool.query('DELETE FROM public.processes WHERE id = $1', [id]);
      } catch (err) {
        logger.debug({ err }, 'the row of this process is not deleted; it ends after a minute');
      }
    },
  };
};
