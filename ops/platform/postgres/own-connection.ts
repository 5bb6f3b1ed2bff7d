import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { PoolClient } from 'pg';
import { endsWithin } from '../concurrency/deadline.js';
import { createOutageLog, type Logger } from '../logging.js';
import { forgetServer, RoutedClient } from './client.js';
import type { Silence } from './silence.js';
import { createHash } from 'node:crypto';
import { withConnection, type Pool, type Queryable } from './pool.js';

/** One number, or two; a 64-bit number is a decimal string. */
export type AdvisoryLock = readonly (number | string)[];

/** Derives a lock from a name. A collision with another lock has a probability of 2⁻⁶⁴. */
export const advisoryLockNamed = (name: string): AdvisoryLock => [
  createHash('sha256').update(name).digest().readBigInt64BE().toString(),
];

const parameters = (lock: AdvisoryLock): string =>
  lock.map((_, index) => `$${index + 1}`).join(', ');

/** Acquires a lock for the session of `client`. Returns `false` if another session holds it. */
export const tryAdvisoryLock = async (client: Queryable, lock: AdvisoryLock): Promise<boolean> => {
  const { rows } = await client.query<{ acquired: boolean }>(
    `SELECT pg_try_advisory_lock(${parameters(lock)}) AS acquired`,
    [...lock],
  );
  return rows[0]?.acquired === true;
};

/**
 * Runs `work` with a connection that holds an advisory lock; `null` if another session holds it. The lock ends with the
 * connection, so work that only one process may do must use this connection.
 */
export const withAdvisoryLock = <Result>(
  pool: Pool,
  lock: AdvisoryLock,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result | null> =>
  withConnection(pool, async (client, onBroken) => {
    if (!(await tryAdvisoryLock(client, lock))) return null;
    try {
      return await work(client);
    } finally {
      // If this fails, the connection is closed, which releases the lock.
      await client
        .query(`SELECT pg_advisory_unlock(${parameters(lock)})`, [...lock])
        .catch(onBroken);
    }
  });

/** Timeout of a query, after which the connection counts as lost (ms). */
const queryTimeoutMs = 1_000;
/** Interval of the holder's pings and of other processes' attempts to acquire the lock (ms). */
const pollMs = 500;
/** Idle time after which PostgreSQL ends the holder's session (ms), because a suspended process keeps its connection. */
const silentForMs = 2_000;

/** Maintains a connection outside of pools: runs `use` on it, pings it, and reconnects after a loss. */
export const keepConnection = (options: {
  readonly url: string;
  /** The name in `pg_stat_activity`. */
  readonly name: string;
  readonly pingMs: number;
  readonly reconnectMs: number;
  /** The signal is aborted when the connection is lost or stopped; `use` must then end. */
  readonly use: (client: pg.Client, signal: AbortSignal) => Promise<void>;
  /** Called when the connection was lost or failed, or `use` failed. */
  readonly onLost: (error: unknown) => void;
  readonly silence?: Silence;
  readonly logger: Logger;
}) => {
  const { url, name, pingMs, reconnectMs, use, onLost, silence, logger } = options;
  const stopped = new AbortController();
  // Read through a function: the value changes while `run` awaits.
  const isStopped = (): boolean => stopped.signal.aborted;

  const watch = <Response>(response: Promise<Response>): Promise<Response> =>
    silence?.watch(response) ?? response;

  const connectAndUse = async (): Promise<void> => {
    const client = new RoutedClient({
      connectionString: url,
      application_name: `linklog ${name}`,
      connectionTimeoutMillis: 2_000,
      query_timeout: queryTimeoutMs,
      keepAlive: true,
    });
    const lost = new AbortController();
    const lose = (error: unknown): void => {
      lost.abort(error);
    };
    client.on('error', lose);
    client.on('end', () => {
      lose(new Error('The server ended the connection'));
    });
    const signal = AbortSignal.any([stopped.signal, lost.signal]);
    const ping = async (): Promise<void> => {
      for (;;) {
        await sleep(pingMs - (performance.now() % pingMs), undefined, { signal });
        await watch(client.query('SELECT'));
      }
    };
    try {
      await watch(client.connect()).catch((error: unknown) => {
        silence?.begin();
        throw error;
      });
      ping().catch(lose);
      await use(client, signal);
      lost.signal.throwIfAborted();
    } catch (error) {
      forgetServer(url);
      if (!isStopped()) onLost(lost.signal.aborted ? lost.signal.reason : error);
    } finally {
      lost.abort();
      const ended = client.end().catch((err: unknown) => {
        logger.debug({ err, connection: name }, 'a lost connection could not be ended');
      });
      await endsWithin(ended, queryTimeoutMs);
    }
  };

  const run = async (): Promise<void> => {
    while (!isStopped()) {
      await connectAndUse();
      // Only `stop` rejects the pause.
      await sleep(reconnectMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const running = run();

  return {
    async stop(): Promise<void> {
      stopped.abort();
      await running;
    },
  };
};

/**
 * Runs work in the process that holds an advisory lock on a separate connection. When the connection is lost, the signal
 * is aborted, but another process may have started the work before. `stop` waits for the work and releases the lock.
 */
export const holdLock = (options: {
  readonly url: string;
  readonly lock: AdvisoryLock;
  readonly name: string;
  /** Ends after the signal. After an error, which is logged, it is started again. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
}) => {
  const { url, lock, name, work, logger } = options;
  const outage = createOutageLog(logger.child({ task: name }), 'advisory lock lost; trying again');
  return keepConnection({
    url,
    name,
    pingMs: pollMs,
    reconnectMs: pollMs,
    async use(client, signal) {
      await client.query(`SET idle_session_timeout = ${silentForMs}`);
      while (!(await tryAdvisoryLock(client, lock))) {
        await sleep(pollMs, undefined, { signal });
      }
      logger.info({ task: name }, 'advisory lock acquired');
      outage.recovered();
      await work(signal);
    },
    onLost: outage.failed,
    logger,
  });
};
