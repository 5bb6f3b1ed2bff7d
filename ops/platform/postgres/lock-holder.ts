import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from '../logging.js';

/** How often who has the lock sees that it still has it, and who has it not tries to get it. */
const pollMs = 500;
const queryTimeoutMs = 1_000;
/**
 * PostgreSQL ends the connection of a holder that is not heard of for so long, and frees its lock: a
 * process that is stopped, or hangs, loses no connection by itself.
 */
const silentForMs = 3_000;

export interface LockHolder {
  /** Resolves when the work has ended and the lock is free. */
  stop(): Promise<void>;
}

/**
 * Does work that only one process may do at a time: whoever holds the advisory lock, on a connection
 * of its own. When that is lost, the work's signal comes, but another process may have begun by
 * then: the work must bear that.
 */
export const holdLock = (options: {
  readonly url: string;
  readonly lock: number;
  readonly name: string;
  /** Ends soon after the signal; what it throws is logged, and it begins anew. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
}): LockHolder => {
  const { url, lock, name, work, logger } = options;
  const stopped = new AbortController();
  // Read through a function: the loops await, and the value changes meanwhile.
  const isStopped = (): boolean => stopped.signal.aborted;

  /** Ends at the stop; nothing else ends it. */
  const pause = async (signal: AbortSignal = stopped.signal): Promise<void> => {
    await sleep(pollMs, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  };

  /** One connection's life. */
  const hold = async (): Promise<void> => {
    const client = new pg.Client({
      connectionString: url,
      application_name: `linklog ${name}`,
      connectionTimeoutMillis: 2_000,
      query_timeout: queryTimeoutMs,
      keepAlive: true,
    });
    const ended = new AbortController();
    const end = (): void => {
      ended.abort();
    };
    client.on('error', end);
    client.on('end', end);
    const signal = AbortSignal.any([stopped.signal, ended.signal]);
    const keepConnected = async (): Promise<void> => {
      const isOver = (): boolean => signal.aborted;
      while (!isOver()) {
        await pause(signal);
        if (!isOver()) await client.query('SELECT');
      }
    };
    try {
      await client.connect();
      await client.query(`SET idle_session_timeout = ${silentForMs}`);
      for (;;) {
        const { rows } = await client.query<{ held: boolean }>(
          'SELECT pg_try_advisory_lock($1) AS held',
          [lock],
        );
        if (rows[0]?.held === true) break;
        await pause(signal);
        if (signal.aborted) return;
      }
      logger.info({ task: name }, 'this process does it from now on');
      // Whichever ends first ends the other.
      await Promise.all([work(signal).finally(end), keepConnected().finally(end)]);
    } finally {
      const closed = client.end().catch((err: unknown) => {
        logger.debug({ err, task: name }, 'a lost connection could not be ended');
      });
      // A server that does not answer is not waited for.
      await Promise.race([closed, sleep(queryTimeoutMs)]);
    }
  };

  const run = async (): Promise<void> => {
    while (!isStopped()) {
      try {
        await hold();
      } catch (err) {
        if (!isStopped()) logger.warn({ err, task: name }, 'failed; trying again');
      }
      await pause();
    }
  };
  const running = run();

  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
};
