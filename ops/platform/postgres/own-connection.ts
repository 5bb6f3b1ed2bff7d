import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { endsWithin } from '../concurrency/deadline.js';
import type { Logger } from '../logging.js';
import { tryAdvisoryLock } from './advisory-lock.js';
import type { Silence } from './silence.js';

/** A ping that takes longer means that the connection is lost. */
const queryTimeoutMs = 1_000;
/** How often the holder pings its connection, and others try to get the lock. */
const pollMs = 500;
/**
 * PostgreSQL ends the connection of a holder that is silent for so long, and frees its lock: a
 * process that is stopped, or hangs, loses no connection by itself.
 */
const silentForMs = 2_000;

/**
 * Keeps a connection outside any pool: makes a new one whenever it is lost, and runs `use` on each.
 * It is pinged, so that a silent loss is noticed in time.
 */
export const keepConnection = (options: {
  readonly url: string;
  /** Stands in PostgreSQL's `pg_stat_activity`. */
  readonly name: string;
  readonly pingMs: number;
  readonly reconnectMs: number;
  /** The signal comes when the connection is lost, or at the stop; `use` ends soon after it. */
  readonly use: (client: pg.Client, signal: AbortSignal) => Promise<void>;
  /** Called when a connection was lost or could not be made, or `use` failed. */
  readonly onLost: (error: unknown) => void;
  /** Hears whether PostgreSQL answers. */
  readonly silence?: Silence;
  readonly logger: Logger;
}) => {
  const { url, name, pingMs, reconnectMs, use, onLost, silence, logger } = options;
  const stopped = new AbortController();
  // Read through a function: the value changes while `run` awaits.
  const isStopped = (): boolean => stopped.signal.aborted;

  const watch = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
    silence?.watch(answer) ?? answer;

  const connectAndUse = async (): Promise<void> => {
    const client = new pg.Client({
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
        await sleep(pingMs, undefined, { signal });
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
      if (!isStopped()) onLost(lost.signal.aborted ? lost.signal.reason : error);
    } finally {
      lost.abort();
      const ended = client.end().catch((err: unknown) => {
        logger.debug({ err, connection: name }, 'a lost connection could not be ended');
      });
      // A server that does not answer is not waited for.
      await endsWithin(ended, queryTimeoutMs);
    }
  };

  const run = async (): Promise<void> => {
    while (!isStopped()) {
      await connectAndUse();
      // Only the stop ends the pause early.
      await sleep(reconnectMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const running = run();

  return {
    /** Resolves when `use` and the connection have ended. */
    async stop(): Promise<void> {
      stopped.abort();
      await running;
    },
  };
};

export type OwnConnection = ReturnType<typeof keepConnection>;

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
}) => {
  const { url, lock, name, work, logger } = options;
  return keepConnection({
    url,
    name,
    pingMs: pollMs,
    reconnectMs: pollMs,
    async use(client, signal) {
      await client.query(`SET idle_session_timeout = ${silentForMs}`);
      while (!(await tryAdvisoryLock(client, [lock]))) {
        await sleep(pollMs, undefined, { signal });
      }
      logger.info({ task: name }, 'advisory lock acquired');
      await work(signal);
    },
    onLost(err) {
      logger.warn({ err, task: name }, 'advisory lock lost; trying again');
    },
    logger,
  });
};
