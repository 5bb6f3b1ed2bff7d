import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { dropRepeats, ownSchema, writeHighWaterMarks } from './checkpoints.js';
import { applyOrSetAside, insertDeadLetters } from './dead-letters.js';
import { liveSchema, type Projection } from './projection.js';
import { readRecord } from './read-record.js';

export interface RedriveResult {
  /** Dead letters and parked events that are applied now. */
  readonly applied: number;
  /** Dead letters that were the same event once more. */
  readonly repeats: number;
  /** Dead letters that failed again, and events still parked behind them. */
  readonly remaining: number;
}

/** Subjects in one transaction: the live projection waits for it. */
const subjectsAtOnce = 100;

interface Subject {
  readonly topic: TopicName;
  readonly partition: number;
  readonly subject: string;
}

interface Letter extends Subject {
  readonly offset: number;
  readonly value: string;
}

/** Takes the letters of the next subjects after `last` out of the table. */
const takeLetters = async (
  tx: Client,
  projection: Projection,
  last: Subject | null,
): Promise<readonly Letter[]> => {
  const { rows } = await tx.query<Letter>(
    `WITH subjects AS (
       SELECT DISTINCT topic, partition, subject FROM ${liveSchema(projection.name)}.dead_letters
       WHERE $1::text IS NULL OR (topic, partition, subject) > ($1, $2, $3)
       ORDER BY topic, partition, subject LIMIT $4
     ),
     taken AS (
       DELETE FROM ${liveSchema(projection.name)}.dead_letters d USING subjects s
       WHERE (d.topic, d.partition, d.subject) = (s.topic, s.partition, s.subject)
       RETURNING d.topic, d.partition, d.subject, d.record_offset, d.value
     )
     SELECT topic, partition, subject, record_offset AS "offset", value FROM taken
     ORDER BY topic, partition, subject, record_offset`,
    [last?.topic, last?.partition, last?.subject, subjectsAtOnce],
  );
  return rows;
};

/** Applies letters of one partition. Writes those that fail again, and all behind them, back. */
const redrivePartition = async (
  tx: Client,
  projection: Projection,
  place: Pick<Subject, 'topic' | 'partition'>,
  letters: readonly Letter[],
): Promise<RedriveResult> => {
  const schema = liveSchema(projection.name);
  const incoming = letters
    .map(({ offset, subject, value }) => readRecord(place.topic, { offset, key: subject, value }))
    .sort((a, b) => a.record.offset - b.record.offset);
  // The table's high-water marks are past these events, so only repeats among the letters can be
  // found. There are some if the record was broken before, and so had no sequence.
  const { fresh, raised } = dropRepeats(incoming, new Map());
  const remaining = await applyOrSetAside(tx, projection, schema, fresh, new Set());
  await insertDeadLetters(tx, schema, place, remaining);
  await writeHighWaterMarks(tx, schema, place, raised);
  return {
    applied: fresh.length - remaining.length,
    repeats: incoming.length - fresh.length,
    remaining: remaining.length,
  };
};

/**
 * Tries the dead letters of a live projection again: those of a subject in order, up to the first
 * that fails. The projector may run meanwhile.
 */
export const redrive = async (pool: Pool, projection: Projection): Promise<RedriveResult> => {
  const total = { applied: 0, repeats: 0, remaining: 0 };
  let last: Subject | null = null;
  do {
    const from: Subject | null = last;
    last = await transaction(pool, async (tx) => {
      await tx.query(ownSchema(projection.name));
      const letters = await takeLetters(tx, projection, from);
      const places = new Map(
        letters.map(({ topic, partition }) => [`${topic}/${partition}`, { topic, partition }]),
      );
      for (const place of places.values()) {
        const own = letters.filter(
          ({ topic, partition }) => topic === place.topic && partition === place.partition,
        );
        const { applied, repeats, remaining } = await redrivePartition(tx, projection, place, own);
        total.applied += applied;
        total.repeats += repeats;
        total.remaining += remaining;
      }
      return letters.at(-1) ?? null;
    });
  } while (last !== null);
  return total;
};
