import type { Batch } from '../../ops/event-log/port.js';
import { isPoison } from '../../ops/platform/error-codes.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import type { HighWaterMarks } from './high-water-marks.js';
import type { Projection, ProjectionSchema } from './projection.js';
import { storable, type IncomingRecord, type ReadableRecord } from './read-record.js';

/** A record that was not applied. */
export interface DeadLetter {
  readonly incoming: IncomingRecord;
  /** Why; `null` when it is only parked behind an earlier one of its subject. */
  readonly error: string | null;
}

export const insertDeadLetters = async (
  tx: Client,
  schema: ProjectionSchema,
  { topic, partition }: Pick<Batch, 'topic' | 'partition'>,
  letters: readonly DeadLetter[],
): Promise<void> => {
  if (letters.length === 0) return;
  await tx.query(
    `INSERT INTO ${schema}.dead_letters (topic, partition, record_offset, subject, value, error)
     SELECT $1, $2, * FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[])`,
    [
      topic,
      partition,
      letters.map(({ incoming }) => incoming.record.offset),
      letters.map(({ incoming }) => incoming.subject),
      letters.map(({ incoming }) => storable(incoming.record.value)),
      letters.map(({ error }) => (error === null ? null : storable(error))),
    ],
  );
};

/** The highest sequence of each subject among the letters that can be read. */
export const highestOf = (letters: readonly DeadLetter[]): HighWaterMarks => {
  const highest: HighWaterMarks = new Map();
  for (const { incoming } of letters) {
    if (!('event' in incoming)) continue;
    const { subject, sequence } = incoming.event;
    if (sequence > (highest.get(subject)?.sequence ?? 0))
      highest.set(subject, { sequence, day: null });
  }
  return highest;
};

/** The offsets of the first ten, for a log line. No values: they are not for a log. */
export const offsetsOf = (letters: readonly DeadLetter[]): readonly number[] =>
  letters.slice(0, 10).map(({ incoming }) => incoming.record.offset);

/** Applies facts, or nothing at all. Returns the error if an event is to blame. */
export const attempt = async (
  tx: Client,
  projection: Projection,
  schema: ProjectionSchema,
  partition: number,
  facts: readonly unknown[],
): Promise<Error | null> => {
  if (facts.length === 0) return null;
  try {
    await Promise.all([
      tx.query('SAVEPOINT attempt'),
      projection.apply(tx, schema, facts, partition),
    ]);
    return null;
  } catch (error) {
    if (!isPoison(error)) throw error;
    // If the connection was the reason after all, this fails and ends the batch.
    await tx.query('ROLLBACK TO SAVEPOINT attempt; RELEASE SAVEPOINT attempt');
    return error as Error;
  }
};

/** What a projection makes of records. */
export const factsOf = (
  projection: Projection,
  records: readonly ReadableRecord[],
): readonly unknown[] =>
  records.map(({ event }) => projection.factOf(event)).filter((fact) => fact !== null);

/**
 * Applies records of one partition, in order and without repeats: all at once if none fails. Returns
 * the others as dead letters: broken records, events that make `apply` fail (found by halving), and
 * later events of their subjects and of `blocked` subjects. Adds the subjects that fail to `blocked`.
 *
 * @throws errors that no event is to blame for
 */
export const applyOrSetAside = async (
  tx: Client,
  projection: Projection,
  schema: ProjectionSchema,
  partition: number,
  incoming: readonly IncomingRecord[],
  blocked: Set<string>,
): Promise<readonly DeadLetter[]> => {
  const letters: DeadLetter[] = [];
  const setAside = (one: IncomingRecord, error: string | null): void => {
    letters.push({ incoming: one, error });
    blocked.add(one.subject);
  };

  const candidates: ReadableRecord[] = [];
  for (const one of incoming) {
    if ('error' in one) setAside(one, one.error.message);
    else if (blocked.has(one.subject)) setAside(one, null);
    else candidates.push(one);
  }

  const failed = new Set<string>();
  const applyPart = async (part: readonly ReadableRecord[]): Promise<void> => {
    const open = part.filter(({ subject }) => !failed.has(subject));
    for (const one of part) {
      if (failed.has(one.subject)) setAside(one, null);
    }
    if (open.length === 0) return;
    const facts = factsOf(projection, open);
    const error = await attempt(tx, projection, schema, partition, facts);
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
  return letters;
};
