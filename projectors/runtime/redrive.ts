import type { EventLog, LogRecord } from '../../ops/event-log/port.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { ownSchema } from './checkpoints.js';
import {
  applyOrSetAside,
  factsOf,
  highestOf,
  insertDeadLetters,
  type DeadLetter,
} from './dead-letters.js';
import {
  deleteHighWaterMarks,
  dropRepeats,
  writeHighWaterMarks,
  type HighWaterMarks,
} from './high-water-marks.js';
import { liveSchema, type Projection, type ProjectionSchema } from './projection.js';
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

interface Letter extends LogRecord {
  readonly topic: TopicName;
  readonly partition: number;
}

/** Takes the letters of the next subjects after that of `last`, in one partition, out of the table. */
const takeLetters = async (
  tx: Client,
  schema: ProjectionSchema,
  last: Letter | undefined,
): Promise<readonly Letter[]> => {
  const { rows } = await tx.query<Letter>(
    `WITH remaining AS (
       SELECT DISTINCT topic, partition, subject FROM ${schema}.dead_letters
       WHERE $1::text IS NULL OR (topic, partition, subject) > ($1, $2, $3)
     ),
     subjects AS (
       SELECT * FROM remaining
       WHERE (topic, partition) =
         (SELECT topic, partition FROM remaining ORDER BY topic, partition LIMIT 1)
       ORDER BY subject LIMIT $4
     ),
     taken AS (
       DELETE FROM ${schema}.dead_letters d USING subjects s
       WHERE (d.topic, d.partition, d.subject) = (s.topic, s.partition, s.subject)
       RETURNING d.topic, d.partition, d.subject, d.record_offset, d.value
     )
     SELECT topic, partition, subject AS key, record_offset AS "offset", value FROM taken
     ORDER BY subject, record_offset`,
    [last?.topic, last?.partition, last?.key, subjectsAtOnce],
  );
  return rows;
};

/** Saves the high-water marks of letters that were tried again. */
const saveMarks = async (
  tx: Client,
  { name, sequences }: Projection,
  place: Letter,
  log: Pick<EventLog, 'mayRepeatLedger'>,
  raised: HighWaterMarks,
  remaining: readonly DeadLetter[],
): Promise<void> => {
  const schema = liveSchema(name);
  if (log.mayRepeatLedger && sequences?.[place.topic]) {
    // The rows have the sequences of what is applied now.
    await deleteHighWaterMarks(tx, schema, place, [...raised.keys()]);
    await writeHighWaterMarks(tx, schema, [{ ...place, marks: highestOf(remaining) }]);
  } else {
    await writeHighWaterMarks(tx, schema, [{ ...place, marks: raised }]);
  }
};

/**
 * Tries the dead letters of a live projection again: those of a subject in order, up to the first
 * that fails, which is written back with all behind it. The projector may run meanwhile. The signal ends it
 * between two transactions.
 *
 * @throws the signal's reason
 */
export const redrive = async (options: {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'mayRepeatLedger'>;
  readonly projection: Projection;
  readonly signal?: AbortSignal;
}): Promise<RedriveResult> => {
  const { pool, log, projection, signal } = options;
  const schema = liveSchema(projection.name);
  const total = { applied: 0, repeats: 0, remaining: 0 };
  let last: Letter | undefined;
  do {
    signal?.throwIfAborted();
    const from: Letter | undefined = last;
    last = await transaction(pool, async (tx) => {
      await tx.query(ownSchema(projection.name));
      const letters = await takeLetters(tx, schema, from);
      const [place] = letters;
      if (!place) return undefined;
      const incoming = letters
        .map((letter) => readRecord(place.topic, letter))
        .sort((a, b) => a.record.offset - b.record.offset);
      // The table's high-water marks are past these events, so only repeats among the letters can be
      // found. There are some if the record was broken before, and so had no sequence.
      const { fresh, raised } = dropRepeats(incoming, new Map(), log);
      const { partition } = place;
      const remaining = await applyOrSetAside(tx, projection, schema, partition, fresh, new Set());
      const failed = new Set(remaining.map((letter) => letter.incoming));
      const applied = fresh.flatMap((one) => ('event' in one && !failed.has(one) ? [one] : []));
      await projection.redriven?.(tx, schema, factsOf(projection, applied), partition);
      await insertDeadLetters(tx, schema, place, remaining);
      await saveMarks(tx, projection, place, log, raised, remaining);
      total.applied += applied.length;
      total.repeats += incoming.length - fresh.length;
      total.remaining += remaining.length;
      return letters.at(-1);
    });
  } while (last);
  return total;
};
