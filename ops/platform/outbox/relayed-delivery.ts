import { deferred, type Deferred } from '../concurrency/deferred.js';
import type { NotificationListener } from '../postgres/listener.js';
import type { Pool } from '../postgres/pool.js';
import type { OutboxDelivery, Receipt } from './port.js';

/** An event that waits longer for the log proper stops new decisions. */
const stalledAfter = '1 second';
/** How long the answer of `isStalled` is kept. */
const stalledMs = 100;

export interface RelayedDelivery extends OutboxDelivery {
  /** Answers every open `logged` with false. */
  stop(): void;
}

/** The delivery by a relay, which may run in any process: `log.relayed` and its notifications tell. */
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
  const waiting = new Set<{ readonly receipt: Receipt; readonly logged: Deferred<boolean> }>();
  let stalled: { readonly until: number; readonly answer: Promise<boolean> } | undefined;

  const isSent = (receipt: Receipt): boolean =>
    receipt.every(({ partitionId, next }) => (sent.get(partitionId) ?? 0) >= next);

  const hear = (ends: readonly (readonly [partitionId: number, next: number])[]): void => {
    for (const [partitionId, next] of ends) {
      sent.set(partitionId, Math.max(next, sent.get(partitionId) ?? 0));
    }
    for (const { receipt, logged } of waiting) if (isSent(receipt)) logged.resolve(true);
  };

  const lookUp = async (): Promise<void> => {
    const { rows } = await pool.query<{ id: number; next: number }>(
      'SELECT partition_id AS id, next_offset AS next FROM log.relayed',
    );
    hear(rows.map(({ id, next }) => [id, next]));
  };

  const unsubscribe = [
    listener.on('linklog_sent', (payload) => {
      hear(JSON.parse(payload) as [number, number][]);
    }),
    listener.onGap((state) => {
      // When this query fails too, the callers that wait get their time-out.
      if (state === 'back' && waiting.size > 0) lookUp().catch(() => undefined);
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

  const logged = async (receipt: Receipt, withinMs: number): Promise<boolean> => {
    if (isSent(receipt)) return true;
    const waiter = { receipt, logged: deferred<boolean>() };
    waiting.add(waiter);
    const timer = setTimeout(waiter.logged.resolve, withinMs, false);
    try {
      return await waiter.logged.promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(waiter);
    }
  };

  return {
    logged,

    async hasLoggedFirst(topic, subjects) {
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
      for (const stop of unsubscribe) stop();
      for (const waiter of waiting) waiter.logged.resolve(false);
    },
  };
};
