import { coalesce } from '../../platform/concurrency/coalesce.js';
import { deferred, type Deferred } from '../../platform/concurrency/deferred.js';
import { retry } from '../../platform/concurrency/retry.js';
import type { NotificationListener } from '../../platform/postgres/listener.js';
import type { Pool } from '../../platform/postgres/pool.js';
import type { OutboxDelivery, OutboxPosition } from './port.js';

/** An event that waits longer for the log proper stops new decisions. */
const stalledAfter = '1 second';
/** How long the answer of `isStalled` is kept. */
const stalledMs = 100;

export interface RelayedDelivery extends OutboxDelivery {
  /** Answers every open `published` with false. */
  stop(): void;
}

/** The delivery by a relay, which may run in any process: `log.relayed` has its progress. */
export const openRelayedDelivery = async (options: {
  readonly pool: Pool;
  /** Hears `linklog_sent`. */
  readonly listener: NotificationListener;
}): Promise<RelayedDelivery> => {
  const { pool, listener } = options;
  await pool.query(
    `INSERT INTO log.relayed (partition_id, next_offset) SELECT id, 0 FROM log.partitions
     ON CONFLICT DO NOTHING`,
  );
  const sent = new Map<number, number>();
  const waiting = new Set<{
    readonly outboxPosition: OutboxPosition;
    readonly published: Deferred<boolean>;
  }>();
  let stalled: { readonly until: number; readonly answer: Promise<boolean> } | undefined;

  const isSent = (outboxPosition: OutboxPosition): boolean =>
    outboxPosition.every(({ partitionId, next }) => (sent.get(partitionId) ?? 0) >= next);

  const lookUp = async (): Promise<void> => {
    const { rows } = await pool.query<{ id: number; next: number }>(
      'SELECT partition_id AS id, next_offset AS next FROM log.relayed',
    );
    for (const { id, next } of rows) sent.set(id, Math.max(next, sent.get(id) ?? 0));
    for (const { outboxPosition, published } of waiting)
      if (isSent(outboxPosition)) published.resolve(true);
  };

  /** Whether the relay may have sent events since the last query: a notification is a hint to query. */
  let isStale = true;
  const stopping = new AbortController();
  const lookUpUntilKnown = coalesce(() => {
    isStale = false;
    // It rejects at the stop only: until then, callers get their time-out.
    return retry(lookUp, { signal: stopping.signal }).catch(() => undefined);
  });
  /** Queries if a caller waits for the answer; otherwise the next one that waits does. */
  const markStale = (): void => {
    isStale = true;
    if (waiting.size > 0) void lookUpUntilKnown();
  };

  const unsubscribe = [
    listener.on('linklog_sent', markStale),
    listener.onGap((state) => {
      if (state === 'back') markStale();
    }),
  ];

  const askIsStalled = async (): Promise<boolean> => {
    const { rows } = await pool.query<{ stalled: boolean }>({
      name: 'outbox-stalled',
      text: `SELECT EXISTS (
               SELECT FROM log.relayed r
               JOIN log.records e ON e.partition_id = r.partition_id AND e.first_offset = r.next_offset
               WHERE (e.value::json ->> 'time')::timestamptz
                     < clock_timestamp() - interval '${stalledAfter}'
             ) AS stalled`,
    });
    return rows[0]?.stalled ?? false;
  };

  const published = async (outboxPosition: OutboxPosition, withinMs: number): Promise<boolean> => {
    if (isSent(outboxPosition)) return true;
    const waiter = { outboxPosition, published: deferred<boolean>() };
    waiting.add(waiter);
    if (isStale) void lookUpUntilKnown();
    const timer = setTimeout(waiter.published.resolve, withinMs, false);
    try {
      return await waiter.published.promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(waiter);
    }
  };

  return {
    published,

    async hasPublishedFirst(topic, subjects) {
      const { rows } = await pool.query<{ unsent: boolean }>({
        name: 'outbox-unsent',
        text: `SELECT EXISTS (
                 SELECT FROM log.records e
                 JOIN log.partitions p ON p.id = e.partition_id AND p.topic = $1
                 JOIN log.relayed r ON r.partition_id = e.partition_id
                 WHERE e.key = ANY ($2::text[]) AND e.ledger_sequence = 1
                   AND e.first_offset >= r.next_offset
               ) AS unsent`,
        values: [topic, subjects],
      });
      return rows[0]?.unsent === false;
    },

    isStalled() {
      const now = performance.now();
      if (!stalled || stalled.until < now) {
        stalled = { until: now + stalledMs, answer: askIsStalled() };
      }
      return stalled.answer;
    },

    stop() {
      stopping.abort();
      for (const stop of unsubscribe) stop();
      for (const waiter of waiting) waiter.published.resolve(false);
    },
  };
};
