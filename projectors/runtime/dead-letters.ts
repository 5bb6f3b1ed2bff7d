import type { Client } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import type { ProjectionSchema } from './names.js';
import { storable, type Reading } from './readings.js';

/** A record that was not applied. */
export interface DeadLetter {
  readonly reading: Reading;
  /** Why; `null` when it is only parked behind an earlier one of its subject. */
  readonly error: string | null;
}

/** Those of the readings' subjects that have dead letters: what comes of them is parked. */
export const blockedSubjects = async (
  tx: Client,
  schema: ProjectionSchema,
  topic: TopicName,
  readings: readonly Reading[],
): Promise<Set<string>> => {
  const { rows } = await tx.query<{ subject: string }>(
    `SELECT DISTINCT subject FROM ${schema}.dead_letters
     WHERE topic = $1 AND subject = ANY ($2::text[])`,
    [topic, [...new Set(readings.map(({ subject }) => subject))]],
  );
  return new Set(rows.map(({ subject }) => subject));
};

export const insertDeadLetters = async (
  tx: Client,
  schema: ProjectionSchema,
  topic: TopicName,
  partition: number,
  letters: readonly DeadLetter[],
): Promise<void> => {
  if (letters.length === 0) return;
  await tx.query(
    `INSERT INTO ${schema}.dead_letters (topic, partition, record_offset, subject, value, error)
     SELECT $1, $2, * FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[])`,
    [
      topic,
      partition,
      letters.map(({ reading }) => reading.record.offset),
      letters.map(({ reading }) => reading.subject),
      letters.map(({ reading }) => storable(reading.record.value)),
      letters.map(({ error }) => (error === null ? null : storable(error))),
    ],
  );
};
