import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { endsWithin } from '../concurrency/deadline.js';
import { untilAborted } from '../concurrency/deferred.js';
import { ConfigError } from '../errors.js';
import { createOutageLog, type Logger } from '../logging.js';
import { RoutedClient } from './client.js';
import { keepConnection } from './own-connection.js';
import type { Silence } from './silence.js';
import type { Statement } from './statement.js';

/** Appends to the log, changes of cached state, and the relay's progress. */
export type Channel = 'linklog_log' | 'linklog_changes' | 'linklog_sent';

const pingMs = 1_000;
const reconnectMs = 200;
/** Interval of the checks that notifications arrive (ms). */
const proveMs = 5_000;
const arriveWithinMs = 2_000;

/** Sends notifications, which listeners receive in this order if the transaction commits. */
export const notification = (channel: Channel, payloads: readonly string[]): Statement => ({
  name: 'notify',
  text: 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS n (payload)',
  values: [channel, payloads],
});

/** Calls all callbacks, although one of them throws. */
const callAll = <Value>(
  callbacks: ReadonlySet<(value: Value) => void>,
  value: Value,
  logger: Logger,
): void => {
  for (const callback of callbacks) {
    try {
      callback(value);
    } catch (err) {
      logger.error({ err }, 'a callback of the listener failed');
    }
  }
};

const addTo = <Item>(set: Set<Item>, item: Item): (() => void) => {
  set.add(item);
  return () => set.delete(item);
};

/** A private channel. */
const newEcho = (): string => `linklog_echo_${randomUUID().replaceAll('-', '')}`;

/**
 * Notifies its own session periodically, which receives a notification before the response of its statement.
 *
 * @throws Error if a notification does not arrive
 */
const proveArrival = async (client: pg.Client): Promise<never> => {
  const echo = newEcho();
  let received = '';
  client.on('notification', ({ channel, payload }) => {
    if (channel === echo) received = payload ?? '';
  });
  await client.query(`SET synchronous_commit = off; LISTEN ${echo}`);
  for (let count = 1; ; count += 1) {
    await client.query('SELECT pg_notify($1, $2)', [echo, String(count)]);
    if (received !== String(count)) throw new Error('notifications do not arrive');
    await sleep(proveMs, undefined, { ref: false });
  }
};

const connect = (connectionString: string): Promise<pg.Client> =>
  new RoutedClient({
    ...{ connectionString, connectionTimeoutMillis: arriveWithinMs, query_timeout: arriveWithinMs },
  }).connect();

/**
 * Checks that one session receives the notifications of another, which a pooler in transaction mode prevents. A single
 * session may get the same server connection again by chance.
 *
 * @throws ConfigError; the error of the connection
 */
export const requireNotifications = async (url: string): Promise<void> => {
  const listener = await connect(url);
  try {
    const notifier = await connect(url);
    try {
      const echo = newEcho();
      const received = new Promise((resolve) => listener.once('notification', resolve));
      await listener.query(`LISTEN ${echo}`);
      await notifier.query(`NOTIFY ${echo}`);
      if (await endsWithin(received, arriveWithinMs)) return;
      throw new ConfigError(
        'DATABASE_URL: notifications (LISTEN, NOTIFY) do not arrive, as through a pooler in transaction mode: ' +
          'use its session mode, or connect to PostgreSQL directly',
      );
    } finally {
      await notifier.end();
    }
  } finally {
    await listener.end();
  }
};

/** LISTENs on a separate connection, whose pings detect a silence. It counts as lost if notifications do not arrive. */
export const listenToPostgres = (
  url: string,
  channels: readonly Channel[],
  logger: Logger,
  silence?: Silence,
) => {
  const listeners = new Map(
    channels.map((channel) => [channel, new Set<(payload: string) => void>()]),
  );
  const gaps = new Set<(state: 'lost' | 'back') => void>();
  let listening = false;
  const message = 'the listening connection was lost';
  const outage = createOutageLog(logger, message, 'the listening connection is back');

  const connection = keepConnection({
    url,
    name: 'listener',
    pingMs,
    reconnectMs,
    async use(client, signal) {
      client.on('notification', ({ channel, payload }) => {
        const callbacks = listeners.get(channel as Channel);
        if (callbacks) callAll(callbacks, payload ?? '', logger);
      });
      await client.query(channels.map((channel) => `LISTEN ${channel}`).join(';'));
      listening = true;
      outage.recovered();
      callAll(gaps, 'back', logger);
      await untilAborted(proveArrival(client), signal);
    },
    onLost(err) {
      listening = false;
      outage.failed(err);
      callAll(gaps, 'lost', logger);
    },
    ...(silence && { silence }),
    logger,
  });

  return {
    /** Whether notifications arrive now. */
    get listening(): boolean {
      return listening;
    },
    /**
     * Calls back with the payload of each notification; returns a function that unsubscribes. Every role that can log in
     * may send notifications, so a notification is only a hint to read its source again.
     */
    on(channel: Channel, callback: (payload: string) => void): () => void {
      const callbacks = listeners.get(channel);
      if (!callbacks) throw new Error(`the connection does not listen to ${channel}`);
      return addTo(callbacks, callback);
    },
    /** Calls back when the connection is lost or back. Notifications in between are missed. */
    onGap: (callback: (state: 'lost' | 'back') => void) => addTo(gaps, callback),
    close: () => connection.stop(),
  };
};

export type NotificationListener = ReturnType<typeof listenToPostgres>;
