import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { insertDeadLetters } from './dead-letters.js';
import { applyOrSetAside } from './isolate.js';
import { ownSchema } from './locks.js';
import { dropRepeats, writeHighWaterMarks } from './high-water-marks.js';
import { liveSchema } from './names.js';
import type { Projection } from './projection.js';
import { readRecord } from './readings.js';

export interface RedriveResult {
  /** Dead letters and parked events that are in the rows now. */
  readonly applied: number;
  /** Dead letters that were the same event once more. */
  readonly repeats: number;
  /** Those of subjects whose first one failed again, and all behind it. */
  readonly remaining: number;
}

/** Subjects that one transaction redrives: the live projection waits for it. */
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

/** The letters by partition: each is a log of its own. */
const byPartition = (letters: readonly Letter[]): readonly (readonly Letter[])[] => {
  const groups = new Map<string, Letter[]>();
  for (const letter of letters) {
    const name = `${letter.topic}/${letter.partition}`;
    const group = groups.get(name);
    if (group) group.push(letter);
    else groups.set(name, [letter]);
  }
  return [...groups.values()];
};

const redrivePartition = async (
  tx: Client,
  projection: Projection,
  letters: readonly Letter[],
): Promise<RedriveResult> => {
  const [first] = letters;
  if (!first) return { applied: 0, repeats: 0, remaining: 0 };
  const { topic, partition } = first;
  const schema = liveSchema(projection.name);
  const readings = letters
    .map(({ offset, subject, value }) => readRecord(topic, { offset, key: subject, value }))
    .sort((a, b) => a.record.offset - b.record.offset);
  // The marks of the table are past these events already, so only repeats among themselves can be
  // known. There are some when the record could not be read, and so had no sequence, before.
  const { fresh, raised } = dropRepeats(readings, new Map());
  const remaining = await applyOrSetAside(tx, projection, schema, fresh, new Set());
  await insertDeadLetters(tx, schema, topic, partition, remaining);
  await writeHighWaterMarks(tx, schema, topic, partition, raised);
  return {
    applied: fresh.length - remaining.length,
    repeats: readings.length - fresh.length,
    remaining: remaining.length,
  };
};

/**
 * Tries the dead letters of a live projection once more, those of a subject in their order up to the
 * first that fails again. What was applied is a dead letter no more. The projector may run meanwhile.
 */
export const redrive = async (pool: Pool, projection: Projection): Promise<RedriveResult> => {
  const total = { applied: 0, repeats: 0, remaining: 0 };
  let last: Subject | null = null;
  do {
    const from: Subject | null = last;
    last = await transaction(pool, async (tx) => {
      await tx.query(ownSchema(projection.name));
      const letters = await takeLetters(tx, projection, from);
      for (const group of byPartition(letters)) {
        const { applied, repeats, remaining } = await redrivePartition(tx, projection, group);
        total.applied += applied;
        total.repeats += repeats;
        total.remaining += remaining;
      }
      return letters.at(-1) ?? null;
    });
  } while (last !== null);
  return total;
};
