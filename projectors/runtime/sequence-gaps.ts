import { valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import type { TopicPartition } from '../../ops/event-log/port.js';
import type { ProjectionSchema } from './projection.js';

/** Consecutive events of a subject that were missing when a later one was read. */
export interface SequenceGap extends TopicPartition {
  readonly subject: string;
  readonly first: number;
  readonly last: number;
}

export const insertGaps = async (
  tx: Client,
  schema: ProjectionSchema,
  gaps: readonly SequenceGap[],
): Promise<void> => {
  if (gaps.length === 0) return;
  await tx.query(
    `INSERT INTO ${schema}.missing_events (topic, partition, subject, first_sequence, last_sequence)
     SELECT * FROM unnest($1::text[], $2::smallint[], $3::text[], $4::bigint[], $5::bigint[])
     ON CONFLICT DO NOTHING`,
    valuesByField(gaps, 'topic', 'partition', 'subject', 'first', 'last'),
  );
};

export const readGaps = async (
  tx: Client,
  schema: ProjectionSchema,
  { topic, partition }: TopicPartition,
  subjects: readonly string[],
): Promise<readonly SequenceGap[]> => {
  const { rows } = await tx.query<SequenceGap>(
    `SELECT topic, partition, subject, first_sequence AS first, last_sequence AS last
     FROM ${schema}.missing_events
     WHERE topic = $1 AND partition = $2 AND subject = ANY ($3::text[])`,
    [topic, partition, subjects],
  );
  return rows;
};
