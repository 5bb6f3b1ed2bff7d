import { never, untilAborted } from '../concurrency/deferred.js';
import type { Logger } from '../logging.js';
import { keepConnection } from './own-connection.js';
import type { Queryable } from './pool.js';
import type { Silence } from './silence.js';

/** Appends to the log, changes of cached state, and the relay's progress. */
export type Channel = 'linklog_log' | 'linklog_changes' | 'linklog_sent';

const pingMs = 300;
const reconnectMs = 200;

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

/** LISTENs on a connection of its own, whose pings tell of a silence. */
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
        for (const hear of hearers.get(channel as Channel) ?? []) hear(payload ?? '');
      });
      await client.query(channels.map((channel) => `LISTEN ${channel}`).join(';'));
      listening = true;
      for (const hear of gaps) hear('back');
      await untilAborted(never, signal);
    },
    onLost(err) {
      listening = false;
      logger.warn({ err }, 'the listening connection was lost');
      for (const hear of gaps) hear('lost');
    },
    ...(silence && { silence }),
    logger,
  });

  return {
    /** Whether notifications are heard at this moment. */
    get listening(): boolean {
      return listening;
    },
    /** Calls `hear` with each notification's payload; returns how to stop that. */
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
