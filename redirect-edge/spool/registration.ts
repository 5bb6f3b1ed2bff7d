import { hostname } from 'node:os';
import { periodically } from '../../ops/platform/concurrency/periodic.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Spool } from './spool.js';

/** With the time limit of a statement, a visit is registered within 10 s (ms). */
const registerEveryMs = 5_000;
/** `linklog audit verify` finds losses of this time. */
const lifetime = '1 year';

/**
 * Registers periodically how many visits of this process's spool were answered, in `log.spools`: otherwise, an audit
 * cannot find the visits of a lost volume that were not shipped.
 */
export const registerSpool = (
  pool: Pool,
  spool: Pick<Spool, 'id' | 'acknowledged'>,
  logger: Logger,
) => {
  let registered = 0;
  const register = async (): Promise<void> => {
    const acknowledged = spool.acknowledged();
    const visits = acknowledged.reduce((sum, last) => sum + last, 0);
    if (visits === registered) return;
    await pool.query({
      name: 'register-spool',
      text: `WITH old AS (
               DELETE FROM log.spools WHERE registered_at < clock_timestamp() - interval '${lifetime}'
             )
             INSERT INTO log.spools (id, host, acknowledged, registered_at)
             VALUES ($1, $2, $3, clock_timestamp())
             ON CONFLICT (id) DO UPDATE
             SET acknowledged = excluded.acknowledged, registered_at = excluded.registered_at`,
      values: [spool.id, hostname(), acknowledged],
    });
    registered = visits;
  };
  const task = periodically({
    ...{ name: 'register the visits of the spool', everyMs: registerEveryMs, logger },
    task: register,
  });
  return {
    /** Registers the last visits. */
    async stop(): Promise<void> {
      await task.stop();
      await register().catch((err: unknown) => {
        logger.warn({ err }, 'the last visits of the spool are not registered');
      });
    },
  };
};
