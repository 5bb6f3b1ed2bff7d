import pg from 'pg';
import type { Logger } from '../logging.js';
import type { Queryable } from './pool.js';

/** What is NOTIFYed: appends to the log, changes to what may be cached, what the relay has sent. */
export type Channel = 'linklog_log' | 'linklog_changes' | 'linklog_sent';

const pingMs = 300;
/** A ping that takes longer means that the connection is lost. */
const pingTimeoutMs = 1_000;
const reconnectDelayMs = 200;

export interface NotificationListener {
  /** Whether notifications are heard at this moment. */
  readonly listening: boolean;
  /** Calls `hear` with each notification's payload; returns how to stop that. */
  on(channel: Channel, hear: (payload: string) => void): () => void;
  /**
   * Calls `hear` when the connection was lost: from then on notifications may have been missed, until
   * it is called again because the connection is back.
   */
  onGap(hear: (state: 'lost' | 'back') => void): () => void;
  close(): Promise<void>;
}

/** Notifies in a transaction: heard when, and only if, it commits. */
export const notify = async (
  client: Queryable,
  channel: Channel,
  payload: string,
): Promise<void> => {
  await client.query('SELECT pg_notify($1, $2)', [channel, payload]);
};

const addTo = <Item>(set: Set<Item>, item: Item): (() => void) => {
  set.add(item);
  return () => set.delete(item);
};

/** LISTENs on a connection of its own, which is pinged so that a silent loss is noticed in time. */
export const listenToPostgres = (
  url: string,
  channels: readonly Channel[],
  logger: Logger,
): NotificationListener => {
  const hearers = new Map(
    channels.map((channel) => [channel, new Set<(payload: string) => void>()]),
  );
  const gaps = new Set<(state: 'lost' | 'back') => void>();
  // The connection in use, or the one that is being made.
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let listening = false;

  const connect = async (): Promise<void> => {
    const next = new pg.Client({
      connectionString: url,
      application_name: 'linklog listener',
      connectionTimeoutMillis: 2_000,
      query_timeout: pingTimeoutMs,
      keepAlive: true,
    });
    client = next;
    let lost = false;
    const reconnect = (err: unknown): void => {
      if (lost || closed) return;
      lost = true;
      listening = false;
      clearTimeout(timer);
      logger.warn({ err }, 'the listening connection was lost');
      for (const hear of gaps) hear('lost');
      next.end().catch((endError: unknown) => {
        logger.debug({ err: endError }, 'a lost connection could not be ended');
      });
      timer = setTimeout(() => {
        connecting = connect();
      }, reconnectDelayMs);
    };
    const ping = (): void => {
      timer = setTimeout(() => {
        next.query('SELECT').then(ping, reconnect);
      }, pingMs);
    };
    next.on('error', reconnect);
    next.on('end', () => {
      reconnect(new Error('The server ended the connection'));
    });
    next.on('notification', ({ channel, payload }) => {
      for (const hear of hearers.get(channel as Channel) ?? []) hear(payload ?? '');
    });
    try {
      await next.connect();
      await next.query(channels.map((channel) => `LISTEN ${channel}`).join(';'));
      listening = true;
      for (const hear of gaps) hear('back');
      if (!closed) ping();
    } catch (error) {
      reconnect(error);
    }
  };

  let connecting = connect();

  return {
    get listening() {
      return listening;
    },
    on(channel, hear) {
      const set = hearers.get(channel);
      if (!set) throw new Error(`Nobody listens to ${channel}`);
      return addTo(set, hear);
    },
    onGap: (hear) => addTo(gaps, hear),
    async close() {
      closed = true;
      clearTimeout(timer);
      await connecting;
      // The one that was being made may have begun to ping.
      clearTimeout(timer);
      await client?.end();
    },
  };
};
