import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../logging.js';
import { keepConnection, type OwnConnection } from './own-connection.js';

/** How often the holder pings its connection, and others try to get the lock. */
const pollMs = 500;
/**
 * PostgreSQL ends the connection of a holder that is silent for so long, and frees its lock: a
 * process that is stopped, or hangs, loses no connection by itself.
 */
const silentForMs = 3_000;

/**
 * Does work that only one process may do at a time: whoever holds the advisory lock, on a connection
 * of its own. When that is lost, the work's signal comes, but another process may have begun by
 * then: the work must bear that. `stop` resolves when the work has ended and the lock is free.
 */
export const holdLock = (options: {
  readonly url: string;
  readonly lock: number;
  readonly name: string;
  /** Ends soon after the signal; what it throws is logged, and it begins anew. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
}): OwnConnection => {
  const { url, lock, name, work, logger } = options;
  return keepConnection({
    url,
    name,
    pingMs: pollMs,
    reconnectMs: pollMs,
    async use(client, signal) {
      await client.query(`SET idle_session_timeout = ${silentForMs}`);
      const tryLock = async (): Promise<boolean> => {
        const { rows } = await client.query<{ held: boolean }>(
          'SELECT pg_try_advisory_lock($1) AS held',
          [lock],
        );
        return rows[0]?.held === true;
      };
      while (!(await tryLock())) await sleep(pollMs, undefined, { signal });
      logger.info({ task: name }, 'advisory lock acquired');
      await work(signal);
    },
    onLost(err) {
      logger.warn({ err, task: name }, 'advisory lock lost; trying again');
    },
    logger,
  });
};
