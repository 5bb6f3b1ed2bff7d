import pg from 'pg';
import type { Logger } from '../logging.js';

export const notifyChannel = 'linklog_log';

const reconnectDelayMs = 500;

/** Wakes readers when something was appended. */
export interface AppendListener {
  /** Calls `wake` after every append; returns how to stop that. A wake may come without an append. */
  onAppend(wake: () => void): () => void;
  close(): Promise<void>;
}

/**
 * LISTENs on a connection of its own. It only makes readers quick: they also look by themselves now
 * and then, so a lost connection costs latency and nothing else.
 */
export const listenForAppends = (url: string, logger: Logger): AppendListener => {
  const wakes = new Set<() => void>();
  const wakeAll = (): void => {
    for (const wake of wakes) wake();
  };
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const connect = async (): Promise<void> => {
    const next = new pg.Client({
      connectionString: url,
      application_name: 'linklog log listener',
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
    });
    let lost = false;
    const reconnect = (err: unknown): void => {
      if (lost || closed) return;
      lost = true;
      client = null;
      logger.warn({ err }, 'the connection that listens for appends was lost');
      next.end().catch((endError: unknown) => {
        logger.debug({ err: endError }, 'a lost connection could not be ended');
      });
      timer = setTimeout(() => {
        connecting = connect();
      }, reconnectDelayMs);
    };
    next.on('error', reconnect);
    next.on('end', () => {
      reconnect(new Error('The server ended the connection'));
    });
    next.on('notification', wakeAll);
    try {
      await next.connect();
      await next.query(`LISTEN ${notifyChannel}`);
      client = next;
      // What was appended while nobody listened.
      wakeAll();
    } catch (error) {
      reconnect(error);
    }
  };

  let connecting = connect();

  return {
    onAppend(wake) {
      wakes.add(wake);
      return () => wakes.delete(wake);
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await connecting;
      await client?.end();
    },
  };
};
