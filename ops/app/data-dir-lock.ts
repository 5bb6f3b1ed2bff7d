import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { deferred, never, untilAborted } from '../platform/concurrency/deferred.js';
import { createOutageLog, type Logger } from '../platform/logging.js';
import {
  advisoryLockNamed,
  tryAdvisoryLock,
  type AdvisoryLock,
  keepConnection,
} from '../platform/postgres/own-connection.js';
import { LockHeld } from '../platform/process/process-lock.js';

/** Interval of the holder's pings and of other processes' attempts to acquire the lock (ms). */
const pollMs = 500;
/** Idle time after which PostgreSQL ends the holder's session, as after a power loss (ms). */
const silentForMs = 5_000;
/** How long a process waits for another holder, which may be draining or may have crashed (ms). */
const holderWaitMs = 10_000;

/** Identifies this process in `pg_stat_activity`. */
const applicationName = `process ${process.pid} on ${hostname()}`;

/** Returns the process that holds the lock; `null` if it has been released. */
const findHolder = async (client: pg.Client, lock: AdvisoryLock) => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pg_locks.database = datid
       AND classid::bigint = ($1::bigint >> 32) & 4294967295
       AND objid::bigint = $1::bigint & 4294967295
       AND datname = current_database()`,
    [...lock],
  );
  const [, pid, host] = /^linklog process (\d+) on (.+)$/.exec(rows[0]?.name ?? '') ?? [];
  return pid === undefined || host === undefined ? null : { pid: Number(pid), host };
};

/**
 * Locks a data directory by its id with a session-level advisory lock, because two machines that share the directory
 * over a network do not see each other's lock socket. After a lost connection or a restart of PostgreSQL, the lock is
 * acquired again. While PostgreSQL is unreachable, the process continues to serve without the lock.
 */
export const lockInDatabase = ({
  url,
  dataDir,
  id,
  waitMs = holderWaitMs,
  logger,
}: {
  readonly url: string;
  readonly dataDir: string;
  readonly id: string;
  readonly waitMs?: number;
  readonly logger: Logger;
}) => {
  const lock = advisoryLockNamed(`data directory ${id}`);
  const decided = deferred();
  const failure = deferred<never>();
  // It may reject before a caller awaits `decided` or `failed`.
  failure.promise.catch(() => undefined);

  const acquire = async (client: pg.Client, signal: AbortSignal): Promise<void> => {
    const end = performance.now() + waitMs;
    while (!(await tryAdvisoryLock(client, lock))) {
      const holder = performance.now() < end ? null : await findHolder(client, lock);
      if (holder !== null) throw new LockHeld(dataDir, holder.pid, holder.host);
      await sleep(pollMs, undefined, { signal });
    }
  };
  const message = 'the lock on the data directory in postgres is lost; acquiring it again';
  const outage = createOutageLog(logger, message);
  const connection = keepConnection({
    url,
    name: applicationName,
    pingMs: pollMs,
    reconnectMs: pollMs,
    async use(client, signal) {
      await client.query(`SET idle_session_timeout = ${silentForMs}`);
      try {
        await acquire(client, signal);
        outage.recovered();
        decided.resolve();
      } catch (error) {
        if (!(error instanceof LockHeld)) throw error;
        failure.reject(error);
      }
      await untilAborted(never, signal);
    },
    onLost(err) {
      outage.failed(err);
      decided.resolve();
    },
    logger,
  });
  return {
    /**
     * Resolves when the lock is acquired or PostgreSQL is unreachable.
     *
     * @throws LockHeld if another process still holds the lock after 10 s
     */
    decided: Promise.race([decided.promise, failure.promise]),
    /** Never resolves. Rejects with LockHeld if another process has acquired the lock. */
    failed: failure.promise,
    stop: () => connection.stop(),
  };
};
