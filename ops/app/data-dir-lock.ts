import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { deferred, never, untilAborted } from '../platform/concurrency/deferred.js';
import type { Logger } from '../platform/logging.js';
import { advisoryLockNamed } from '../platform/postgres/advisory-lock.js';
import { keepConnection } from '../platform/postgres/own-connection.js';
import { LockHeld } from '../platform/process/process-lock.js';

/** How often the holder pings its connection, and another process tries to get the lock (ms). */
const pollMs = 500;
/** PostgreSQL ends the session of a holder that is silent for so long, as after a power loss (ms). */
const silentForMs = 5_000;
/** How long a process waits for another holder, which may be draining or have ended without a word (ms). */
const holderWaitMs = 10_000;

/** Names the process to others, in `pg_stat_activity`. */
const applicationName = `process ${process.pid} on ${hostname()}`;

/** The process that has the lock; `null` where none has it any more. */
const holderOf = async (
  client: pg.Client,
  lock: string,
): Promise<{ readonly pid: number; readonly host: string } | null> => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pg_locks.database = datid
       AND classid::bigint = ($1::bigint >> 32) & 4294967295
       AND objid::bigint = $1::bigint & 4294967295
       AND datname = current_database()`,
    [lock],
  );
  const [, pid, host] = /^linklog process (\d+) on (.+)$/.exec(rows[0]?.name ?? '') ?? [];
  return pid === undefined || host === undefined ? null : { pid: Number(pid), host };
};

/**
 * Locks a data directory in the PostgreSQL that its processes share, by the directory's id: two machines that
 * share it over a network do not see each other's socket. It is a session's advisory lock. A lost connection, and
 * a restart of PostgreSQL, do not end the process: the lock is acquired again.
 *
 * While PostgreSQL is unreachable nothing is locked: the process serves on, and the lock follows.
 */
export const lockInDatabase = (options: {
  readonly url: string;
  readonly dataDir: string;
  readonly id: string;
  readonly waitMs?: number;
  readonly logger: Logger;
}) => {
  const { url, dataDir, id, waitMs = holderWaitMs, logger } = options;
  const lock = advisoryLockNamed(`data directory ${id}`);
  const decided = deferred();
  const failure = deferred<never>();
  // Both are awaited later than they may fail.
  failure.promise.catch(() => undefined);

  const tryLock = async (client: pg.Client): Promise<boolean> => {
    const { rows } = await client.query<{ held: boolean }>(
      'SELECT pg_try_advisory_lock($1) AS held',
      [lock],
    );
    return rows[0]?.held === true;
  };
  const acquire = async (client: pg.Client, signal: AbortSignal): Promise<void> => {
    const end = performance.now() + waitMs;
    while (!(await tryLock(client))) {
      const holder = performance.now() < end ? null : await holderOf(client, lock);
      if (holder !== null) throw new LockHeld(dataDir, holder.pid, holder.host);
      await sleep(pollMs, undefined, { signal });
    }
  };
  const connection = keepConnection({
    url,
    name: applicationName,
    pingMs: pollMs,
    reconnectMs: pollMs,
    async use(client, signal) {
      await client.query(`SET idle_session_timeout = ${silentForMs}`);
      try {
        await acquire(client, signal);
        decided.resolve();
      } catch (error) {
        if (!(error instanceof LockHeld)) throw error;
        failure.reject(error);
      }
      await untilAborted(never, signal);
    },
    onLost(err) {
      logger.warn(
        { err },
        'the lock on the data directory in postgres is lost; acquiring it again',
      );
      decided.resolve();
    },
    logger,
  });
  return {
    /**
     * Resolves when the lock is acquired, or PostgreSQL is unreachable. @throws LockHeld after 10 s, where another
     * process has it
     */
    decided: Promise.race([decided.promise, failure.promise]),
    /** Never resolves; rejects with LockHeld when another process has acquired the lock. */
    failed: failure.promise,
    /** Resolves when the lock is released. */
    stop: () => connection.stop(),
  };
};
