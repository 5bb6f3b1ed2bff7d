/** Events of the outbox that the log on Kafka does not have yet. */
import type {
  Batch,
  EventLog,
  LogRecord,
  PartitionRange,
  TopicPartition,
} from '../event-log/port.js';
import { readOffsetRange } from '../event-log/postgres-batches.js';
import { valuesByField, type Pool } from '../platform/postgres/pool.js';
import { decided } from './behind-log.js';

/** The relay's progress in a partition of the outbox. */
interface SentPosition extends TopicPartition {
  readonly partitionId: number;
  /** The first offset of the outbox that is not marked as sent. */
  readonly next: number;
}

/** Offsets of the outbox from `from` to `to` (exclusive). */
export interface UnsentEvents extends Pick<SentPosition, 'partitionId' | 'topic' | 'partition'> {
  readonly from: number;
  readonly to: number;
}

/** Returns the positions of all partitions; empty if the outbox is the log. */
export const sentPositions = async (pool: Pool): Promise<readonly SentPosition[]> => {
  const { rows } = await pool.query<SentPosition>(
    `SELECT p.id AS "partitionId", p.topic, p.partition, r.next_offset AS next
     FROM log.partitions p JOIN log.relayed r ON r.partition_id = p.id`,
  );
  return rows;
};

/** Returns the offset after the last of these records in the outbox; at least `next`. */
const offsetAfter = async (
  pool: Pool,
  { partitionId, next }: SentPosition,
  records: readonly LogRecord[],
): Promise<number> => {
  const { rows } = await pool.query<{ after: number }>(
    `SELECT coalesce(max(e.first_offset) + 1, $2) AS "after"
     FROM unnest($3::text[], $4::bigint[]) AS seen (key, sequence)
     JOIN log.records e ON e.key = seen.key AND e.ledger_sequence = seen.sequence
      AND e.partition_id = $1 AND e.first_offset >= $2`,
    [partitionId, next, ...valuesByField(decided(records), 'subject', 'sequence')],
  );
  return rows[0]?.after ?? next;
};

/**
 * Returns the recorded events that the log does not have before its `ends`. The positions must be read before the ends, so
 * that each event is either before an end or in the result. The relay sends a partition in order, so sent events are
 * contiguous.
 */
export const findUnsent = async (
  { pool, log }: { readonly pool: Pool; readonly log: Pick<EventLog, 'read'> },
  positions: readonly SentPosition[],
  ends: readonly (PartitionRange & TopicPartition)[],
): Promise<readonly UnsentEvents[]> => {
  // One statement, so that an event is included together with the events that it refers to.
  const { rows } = await pool.query<{ id: number; next: number }>(
    'SELECT id, next_offset AS next FROM log.partitions',
  );
  const recorded = new Map(rows.map(({ id, next }) => [id, next]));
  const unsent: UnsentEvents[] = [];
  for (const position of positions) {
    const { partitionId, topic, partition, next } = position;
    const to = recorded.get(partitionId) ?? next;
    if (to <= next) continue;
    const end = ends.find((range) => range.topic === topic && range.partition === partition);
    if (!end) throw new RangeError(`the log has no partition ${topic}/${partition}`);
    let from = next;
    // From the start, because a late relay may have sent events after any checkpoint.
    for await (const { records } of log.read(topic, partition, end.first, end.next)) {
      from = Math.max(from, await offsetAfter(pool, position, records));
    }
    if (from < to) unsent.push({ partitionId, topic, partition, from, to });
  }
  return unsent;
};

/** Reads the events in batches of bounded size. @throws if the outbox lacks an event */
export async function* readUnsent(
  pool: Pool,
  { partitionId, topic, partition, from, to }: UnsentEvents,
): AsyncGenerator<Batch> {
  let next = from;
  for await (const records of readOffsetRange(pool, { partitionId, from, to })) {
    if (records[0]?.offset !== next) break;
    next += records.length;
    yield { topic, partition, records };
  }
  if (next !== to) throw new Error(`the outbox has no event at ${next} of ${topic}/${partition}`);
}
