import { coalesce, deferred, type Deferred } from '../../platform/concurrency/deferred.js';
import { endsWithin } from '../../platform/concurrency/deadline.js';
import { retryUntilAborted } from '../../platform/concurrency/retry.js';
import type { NotificationListener } from '../../platform/postgres/listener.js';
import type { Pool } from '../../platform/postgres/pool.js';
import type { TopicPartition } from '../port.js';
import type { OutboxDelivery, OutboxPosition } from './port.js';
import { allStalled, noneStalled, StalledPartitions } from './stalled-partitions.js';

/**
 * How long an event may be unsent before its partition counts as stalled, so that no new events of it are decided. Longer
 * than the session timeout of a killed broker, until which the other leaders do not respond.
 */
const stalledAfter = '2 seconds';
/** How long a result of `stalled` is reused. */
const stalledMs = 100;

export interface RelayedDelivery extends OutboxDelivery {
  /** Ends every pending call of `published`. */
  stop(): void;
}

/** The delivery by a relay in any process, whose progress is in `log.relayed`. */
export const openRelayedDelivery = async (options: {
  readonly pool: Pool;
  /** Receives `linklog_sent`. */
  readonly listener: NotificationListener;
  /** Whether the log responds. Called while partitions are stalled: if it does not, all of them are. */
  readonly isReachable?: () => Promise<boolean>;
}): Promise<RelayedDelivery> => {
  const { pool, listener, isReachable = () => Promise.resolve(true) } = options;
  await pool.query(
    `INSERT INTO log.relayed (partition_id, next_offset) SELECT id, 0 FROM log.partitions
     ON CONFLICT DO NOTHING`,
  );
  const sent = new Map<number, number>();
  const waiting = new Set<{
    readonly outboxPosition: OutboxPosition;
    readonly ended: Deferred<void>;
  }>();
  let stalled: { readonly until: number; readonly result: Promise<StalledPartitions> } | undefined;

  const isSent = (outboxPosition: OutboxPosition): boolean =>
    outboxPosition.every(({ partitionId, next }) => (sent.get(partitionId) ?? 0) >= next);

  const readSent = async (): Promise<void> => {
    const { rows } = await pool.query<{ id: number; next: number }>(
      'SELECT partition_id AS id, next_offset AS next FROM log.relayed',
    );
    for (const { id, next } of rows) sent.set(id, Math.max(next, sent.get(id) ?? 0));
    for (const { outboxPosition, ended } of waiting) if (isSent(outboxPosition)) ended.resolve();
  };

  /** Whether the relay may have sent events since the last query. */
  let isStale = true;
  const stopping = new AbortController();
  const refresh = coalesce(() => {
    isStale = false;
    return retryUntilAborted(readSent, { signal: stopping.signal });
  });
  /** Queries immediately if a caller waits; otherwise the next caller does. */
  const markStale = (): void => {
    isStale = true;
    if (waiting.size > 0) void refresh();
  };

  const unsubscribe = [
    listener.on('linklog_sent', markStale),
    listener.onGap((state) => {
      if (state === 'back') markStale();
    }),
  ];

  const queryStalled = async (): Promise<StalledPartitions> => {
    const { rows } = await pool.query<TopicPartition>({
      name: 'outbox-stalled',
      text: `SELECT p.topic, p.partition FROM log.partitions p
             JOIN log.relayed r ON r.partition_id = p.id
             JOIN log.records e ON e.partition_id = r.partition_id AND e.first_offset = r.next_offset
             WHERE e.recorded_at < clock_timestamp() - interval '${stalledAfter}'`,
    });
    if (rows.length === 0) return noneStalled;
    return (await isReachable()) ? new StalledPartitions(rows) : allStalled;
  };

  return {
    async published(outboxPosition, withinMs) {
      if (isSent(outboxPosition)) return true;
      const waiter = { outboxPosition, ended: deferred() };
      waiting.add(waiter);
      if (isStale) void refresh();
      await endsWithin(waiter.ended.promise, withinMs);
      waiting.delete(waiter);
      return isSent(outboxPosition);
    },

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

    stalled() {
      const now = performance.now();
      if (!stalled || stalled.until < now) {
        stalled = { until: now + stalledMs, result: queryStalled() };
      }
      return stalled.result;
    },

    stop() {
      stopping.abort();
      for (const stop of unsubscribe) stop();
      for (const { ended } of waiting) ended.resolve();
    },
  };
};
