/** The events that the outbox has and the log on Kafka does not have yet, whether or not a relay runs. */
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

/** How far the relay has sent a partition of the outbox. */
export interface SentPosition extends TopicPartition {
  readonly partitionId: number;
  /** An offset of the outbox: the events before it are marked as sent. */
  readonly next: number;
}

/** Offsets of the outbox: from `from` up to, not including, `to`. */
export interface UnsentEvents extends Pick<SentPosition, 'partitionId' | 'topic' | 'partition'> {
  readonly from: number;
  readonly to: number;
}

/** The positions of all partitions; none where the outbox is the log. */
export const sentPositions = async (pool: Pool): Promise<readonly SentPosition[]> => {
  const { rows } = await pool.query<SentPosition>(
    `SELECT p.id AS "partitionId", p.topic, p.partition, r.next_offset AS next
     FROM log.partitions p JOIN log.relayed r ON r.partition_id = p.id`,
  );
  return rows;
};

/** The offset of the outbox behind the last of these records that it has at `next` or later; else `next`. */
const behindKnown = async (
  pool: Pool,
  { partitionId, next }: SentPosition,
  records: readonly LogRecord[],
): Promise<number> => {
  const { rows } = await pool.query<{ behind: number }>(
    `SELECT coalesce(max(e.first_offset) + 1, $2) AS behind
     FROM unnest($3::text[], $4::bigint[]) AS seen (key, sequence)
     JOIN log.records e ON e.key = seen.key AND e.ledger_sequence = seen.sequence
      AND e.partition_id = $1 AND e.first_offset >= $2`,
    [partitionId, next, ...valuesByField(decided(records), 'subject', 'sequence')],
  );
  return rows[0]?.behind ?? next;
};

/**
 * The events that were recorded by now and that the log does not have before its `ends`. The positions must be
 * read before the ends: then each event is before the end of its partition, or in the result, and not in both.
 * The relay sends a partition in order, so what the log has of it is contiguous.
 */
export const findUnsent = async (
  { pool, log }: { readonly pool: Pool; readonly log: Pick<EventLog, 'read'> },
  positions: readonly SentPosition[],
  ends: readonly (PartitionRange & TopicPartition)[],
): Promise<readonly UnsentEvents[]> => {
  // One statement: an event is here together with all that it refers to.
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
    if (!end) throw new RangeError(`The log has no partition ${topic}/${partition}`);
    let from = next;
    // From its start: no checkpoint of a relay excludes that a later relay has sent events before it.
    for await (const { records } of log.read(topic, partition, end.first, end.next)) {
      from = Math.max(from, await behindKnown(pool, position, records));
    }
    if (from < to) unsent.push({ partitionId, topic, partition, from, to });
  }
  return unsent;
};

/** The events, in pieces of bounded size. @throws Error where the outbox lacks one */
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
  if (next !== to) throw new Error(`The outbox lacks an event of ${topic}/${partition} at ${next}`);
}
