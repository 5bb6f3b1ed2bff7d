import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { endsWithin } from '../concurrency/deadline.js';
import { untilAborted } from '../concurrency/deferred.js';
import { ConfigError } from '../process/config-error.js';
import type { Logger } from '../logging.js';
import { keepConnection } from './own-connection.js';
import type { Silence } from './silence.js';
import type { Statement } from './statement.js';

/** Appends to the log, changes of cached state, and the relay's progress. */
export type Channel = 'linklog_log' | 'linklog_changes' | 'linklog_sent';

const pingMs = 300;
const reconnectMs = 200;
/** How often a listener proves that it hears. */
const proveMs = 1_000;
const hearWithinMs = 2_000;

/** Notifies in a transaction: the notifications are received in this order when, and only if, it commits. */
export const notification = (channel: Channel, payloads: readonly string[]): Statement => ({
  name: 'notify',
  text: 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS n (payload)',
  values: [channel, payloads],
});

/** Calls all of them: a callback that throws must not keep the others from the notification, nor end the process. */
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

/** A channel that nobody else hears. */
const newEcho = (): string => `linklog_echo_${randomUUID().replaceAll('-', '')}`;

/**
 * Notifies its own connection again and again. A session hears its own notification before the answer
 * of the statement that made it.
 *
 * @throws Error when it does not hear
 */
const proveHearing = async (client: pg.Client): Promise<never> => {
  const echo = newEcho();
  let heard = '';
  client.on('notification', ({ channel, payload }) => {
    if (channel === echo) heard = payload ?? '';
  });
  // What it commits is no data: nobody waits for the disk.
  await client.query(`SET synchronous_commit = off; LISTEN ${echo}`);
  for (let count = 1; ; count += 1) {
    await client.query('SELECT pg_notify($1, $2)', [echo, String(count)]);
    if (heard !== String(count)) throw new Error('notifications do not arrive');
    await sleep(proveMs, undefined, { ref: false });
  }
};

const connect = async (connectionString: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: hearWithinMs });
  // A connection that is lost fails the statement that waits, which is enough.
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

/**
 * Refuses an address through which one session does not hear what another one notifies: a pooler that
 * gives each transaction another server connection. A session alone could not tell: by chance, it gets
 * the same one again.
 *
 * @throws ConfigError; what the connection fails with
 */
export const requireNotifications = async (url: string): Promise<void> => {
  const listener = await connect(url);
  try {
    const notifier = await connect(url);
    try {
      const echo = newEcho();
      const heard = new Promise((resolve) => listener.once('notification', resolve));
      await listener.query(`LISTEN ${echo}`);
      await notifier.query(`NOTIFY ${echo}`);
      if (await endsWithin(heard, hearWithinMs)) return;
      throw new ConfigError(
        'DATABASE_URL: notifications (LISTEN, NOTIFY) do not arrive: connect to PostgreSQL itself, or ' +
          'through a pooler in session mode',
      );
    } finally {
      await notifier.end();
    }
  } finally {
    await listener.end();
  }
};

/**
 * LISTENs on a connection of its own, whose pings tell of a silence. One that is deaf counts as lost.
 */
export const listenToPostgres = (
  url: string,
  channels: readonly Channel[],
  logger: Logger,
  silence?: Silence,
) => {
  const hearers = new Map(
    channels.map((channel) => [channel, new Set<(payload: string) => void>()]),
  );
  const gaps = new Set<(state: 'lost' | 'back') => void>();
  let listening = false;

  const connection = keepConnection({
    url,
    name: 'listener',
    pingMs,
    reconnectMs,
    async use(client, signal) {
      client.on('notification', ({ channel, payload }) => {
        const callbacks = hearers.get(channel as Channel);
        if (callbacks) callAll(callbacks, payload ?? '', logger);
      });
      await client.query(channels.map((channel) => `LISTEN ${channel}`).join(';'));
      listening = true;
      callAll(gaps, 'back', logger);
      await untilAborted(proveHearing(client), signal);
    },
    onLost(err) {
      listening = false;
      logger.warn({ err }, 'the listening connection was lost');
      callAll(gaps, 'lost', logger);
    },
    ...(silence && { silence }),
    logger,
  });

  return {
    /** Whether notifications are heard at this moment. */
    get listening(): boolean {
      return listening;
    },
    /**
     * Calls `hear` with each notification's payload; returns how to stop that. Every role that can log in may send
     * notifications: each is a hint to read its source again, and its payload decides nothing.
     */
    on(channel: Channel, hear: (payload: string) => void): () => void {
      const set = hearers.get(channel);
      if (!set) throw new Error(`Nobody listens to ${channel}`);
      return addTo(set, hear);
    },
    /**
     * Calls `hear` when the connection was lost: from then on notifications may have been missed,
     * until it is called again because the connection is back.
     */
    onGap: (hear: (state: 'lost' | 'back') => void) => addTo(gaps, hear),
    close: () => connection.stop(),
  };
};

export type NotificationListener = ReturnType<typeof listenToPostgres>;
