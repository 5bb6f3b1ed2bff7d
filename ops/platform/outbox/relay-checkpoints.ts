import type { TopicName } from '../../../schemas/events/topics.js';
import type { EventLog } from '../event-log/port.js';
import { valuesByField, type Pool } from '../postgres/pool.js';

/** How long sent events stay at least, so that they can be looked up. */
const keptFor = '1 day';
const maxDeleted = 5_000;

/** The sent part of a partition of the outbox. */
interface Sent {
  readonly partitionId: number;
  readonly topic: TopicName;
  readonly next: number;
}

/** Saves where the log proper ends now: all that was sent is before that. */
export const saveRelayCheckpoints = async (
  pool: Pool,
  log: Pick<EventLog, 'ranges'>,
  sent: readonly Sent[],
): Promise<void> => {
  if (sent.length === 0) return;
  const names = [...new Set(sent.map(({ topic }) => topic))];
  const ends = new Map(
    await Promise.all(names.map(async (topic) => [topic, await log.ranges(topic)] as const)),
  );
  const ranges = [...ends].flatMap(([topic, all]) => all.map((range) => ({ topic, ...range })));
  await pool.query(
    `INSERT INTO log.relay_checkpoints (partition_id, next_offset, log_offset)
     SELECT s.partition_id, s.next_offset, e.log_offset
     FROM unnest($1::smallint[], $2::bigint[]) AS s (partition_id, next_offset)
     JOIN log.partitions p ON p.id = s.partition_id
     JOIN unnest($3::text[], $4::smallint[], $5::bigint[]) AS e (topic, partition, log_offset)
       USING (topic, partition)
     ON CONFLICT DO NOTHING`,
    [
      ...valuesByField(sent, 'partitionId', 'next'),
      ...valuesByField(ranges, 'topic', 'partition', 'next'),
    ],
  );
};

/** The offset below which every reader that matters has applied a partition of the log proper. */
export type AppliedThrough = (topic: TopicName, partition: number) => Promise<number>;

/**
 * Deletes events that were sent a day ago and that every projection has applied, a bounded number at
 * a time; returns how many.
 */
export const pruneSent = async (pool: Pool, appliedThrough: AppliedThrough): Promise<number> => {
  const { rows: partitions } = await pool.query<{
    id: number;
    topic: TopicName;
    partition: number;
  }>(
    `SELECT DISTINCT p.id, p.topic, p.partition
     FROM log.partitions p JOIN log.relay_checkpoints m ON m.partition_id = p.id
     WHERE m.saved_at < clock_timestamp() - interval '${keptFor}'`,
  );
  let deleted = 0;
  for (const { id, topic, partition } of partitions) {
    const applied = await appliedThrough(topic, partition);
    const { rowCount } = await pool.query(
      `WITH passed AS (
         SELECT max(next_offset) AS next_offset FROM log.relay_checkpoints
         WHERE partition_id = $1 AND log_offset <= $2
           AND saved_at < clock_timestamp() - interval '${keptFor}'
       ),
       forgotten AS (
         DELETE FROM log.relay_checkpoints m USING passed
         WHERE m.partition_id = $1 AND m.next_offset < passed.next_offset
       )
       DELETE FROM log.events e WHERE (e.partition_id, e.record_offset) IN (
         SELECT partition_id, record_offset FROM log.events, passed
         WHERE partition_id = $1 AND record_offset < passed.next_offset
         ORDER BY record_offset LIMIT ${maxDeleted}
       )`,
      [id, applied],
    );
    deleted += rowCount ?? 0;
  }
  return deleted;
};
