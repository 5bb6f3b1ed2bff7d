import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { settledWithin } from '../concurrency/deferred.js';
import type { Logger } from '../logging.js';

/** A ping that takes longer means that the connection is lost. */
const queryTimeoutMs = 1_000;

export interface OwnConnection {
  /** Resolves when `use` and the connection have ended. */
  stop(): Promise<void>;
}

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
  readonly logger: Logger;
}): OwnConnection => {
  const { url, name, pingMs, reconnectMs, use, onLost, logger } = options;
  const stopped = new AbortController();
  // Read through a function: the value changes while `run` awaits.
  const isStopped = (): boolean => stopped.signal.aborted;

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
        await client.query('SELECT');
      }
    };
    try {
      await client.connect();
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
      await settledWithin(ended, queryTimeoutMs);
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
    async stop() {
      stopped.abort();
      await running;
    },
  };
};
