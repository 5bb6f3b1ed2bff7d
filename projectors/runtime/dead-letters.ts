import type { TopicPartition } from '../../ops/event-log/port.js';
import { isPoison } from '../../ops/platform/error-codes.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import type { HighWaterMarks } from './high-water-marks.js';
import type { Projection, ProjectionSchema } from './projection.js';
import { storable, type IncomingRecord, type ReadableRecord } from './read-record.js';

/** A record that was not applied. */
export interface DeadLetter {
  readonly incoming: IncomingRecord;
  /** The reason; `null` if the event is parked after an earlier dead letter of its subject. */
  readonly error: string | null;
}

export const insertDeadLetters = async (
  tx: Client,
  schema: ProjectionSchema,
  { topic, partition }: TopicPartition,
  deadLetters: readonly DeadLetter[],
): Promise<void> => {
  if (deadLetters.length === 0) return;
  await tx.query(
    `INSERT INTO ${schema}.dead_letters (topic, partition, record_offset, subject, value, error)
     SELECT $1, $2, * FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[])`,
    [
      topic,
      partition,
      deadLetters.map(({ incoming }) => incoming.record.offset),
      deadLetters.map(({ incoming }) => incoming.subject),
      deadLetters.map(({ incoming }) => storable(incoming.record.value)),
      deadLetters.map(({ error }) => (error === null ? null : storable(error))),
    ],
  );
};

/** Returns the highest sequence of each subject among the readable dead letters. */
export const highestOf = (deadLetters: readonly DeadLetter[]): HighWaterMarks => {
  const highest: HighWaterMarks = new Map();
  for (const { incoming } of deadLetters) {
    if (!('event' in incoming)) continue;
    const { subject, sequence } = incoming.event;
    if (sequence > (highest.get(subject)?.sequence ?? 0))
      highest.set(subject, { sequence, day: null });
  }
  return highest;
};

/** Returns the offsets of the first ten dead letters for a log line, which must not contain their values. */
export const offsetsOf = (deadLetters: readonly DeadLetter[]): readonly number[] =>
  deadLetters.slice(0, 10).map(({ incoming }) => incoming.record.offset);

/** Applies all of the changes or none. Returns the error if an event is the cause. */
export const attempt = async (
  tx: Client,
  projection: Projection,
  schema: ProjectionSchema,
  partition: number,
  changes: readonly unknown[],
): Promise<Error | null> => {
  if (changes.length === 0) return null;
  try {
    await Promise.all([
      tx.query('SAVEPOINT attempt'),
      projection.apply(tx, schema, changes, partition),
    ]);
    return null;
  } catch (error) {
    if (!isPoison(error)) throw error;
    // If the connection is the actual cause, this fails and ends the batch.
    await tx.query('ROLLBACK TO SAVEPOINT attempt; RELEASE SAVEPOINT attempt');
    return error as Error;
  }
};

export const changesOf = (
  projection: Projection,
  { topic, partition }: TopicPartition,
  records: readonly ReadableRecord[],
): readonly unknown[] =>
  records
    .map(({ event, record }) =>
      projection.toChange(event, { topic, partition, offset: record.offset }),
    )
    .filter((change) => change !== null);

/**
 * Applies records of one partition, in order and without repeats. Returns the dead letters: broken records, events that
 * make `apply` fail (found by bisection), and later events of their subjects and of `blocked` subjects. Adds the subjects
 * of dead letters to `blocked`.
 *
 * @throws errors that are not caused by an event
 */
export const applyOrSetAside = async (
  tx: Client,
  projection: Projection,
  schema: ProjectionSchema,
  topicPartition: TopicPartition,
  incoming: readonly IncomingRecord[],
  blocked: Set<string>,
): Promise<readonly DeadLetter[]> => {
  const deadLetters: DeadLetter[] = [];
  const setAside = (record: IncomingRecord, error: string | null): void => {
    deadLetters.push({ incoming: record, error });
    blocked.add(record.subject);
  };

  const candidates: ReadableRecord[] = [];
  for (const record of incoming) {
    if ('error' in record) setAside(record, record.error.message);
    else if (blocked.has(record.subject)) setAside(record, null);
    else candidates.push(record);
  }

  const failed = new Set<string>();
  const applyPart = async (part: readonly ReadableRecord[]): Promise<void> => {
    const open = part.filter(({ subject }) => !failed.has(subject));
    for (const record of part) if (failed.has(record.subject)) setAside(record, null);
    if (open.length === 0) return;
    const changes = changesOf(projection, topicPartition, open);
    const error = await attempt(tx, projection, schema, topicPartition.partition, changes);
    if (error === null) return;
    const [only] = open;
    if (only && open.length === 1) {
      failed.add(only.subject);
      setAside(only, error.message);
      return;
    }
    const middle = Math.ceil(open.length / 2);
    await applyPart(open.slice(0, middle));
    await applyPart(open.slice(middle));
  };
  await applyPart(candidates);
  return deadLetters;
};
