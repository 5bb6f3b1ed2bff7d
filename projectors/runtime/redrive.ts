import type { EventLog, LogRecord, TopicPartition } from '../../ops/event-log/port.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { ownSchema } from './checkpoints.js';
import {
  applyOrSetAside,
  changesOf,
  highestOf,
  insertDeadLetters,
  type DeadLetter,
} from './dead-letters.js';
import { dropRepeats, marksIn, type HighWaterMarks } from './high-water-marks.js';
import { liveSchema, type Projection, type ProjectionSchema } from './projection.js';
import { readRecord } from './read-record.js';

interface RedriveResult {
  /** Dead letters and parked events that were applied. */
  readonly applied: number;
  /** Dead letters that repeat another one. */
  readonly repeats: number;
  /** Dead letters that failed again, and events parked after them. */
  readonly remaining: number;
}

/** Subjects in one transaction, for which the live projection waits. */
const subjectsPerTransaction = 100;

type StoredDeadLetter = LogRecord & TopicPartition;

/** Deletes and returns the dead letters of the next subjects after that of `last`, in one partition. */
const takeDeadLetters = async (
  tx: Client,
  schema: ProjectionSchema,
  last: StoredDeadLetter | undefined,
): Promise<readonly StoredDeadLetter[]> => {
  const { rows } = await tx.query<StoredDeadLetter>(
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
    [last?.topic, last?.partition, last?.key, subjectsPerTransaction],
  );
  return rows;
};

const saveMarks = async (
  tx: Client,
  { name, sequences }: Projection,
  topicPartition: StoredDeadLetter,
  log: Pick<EventLog, 'mayRepeatLedger'>,
  raised: HighWaterMarks,
  remaining: readonly DeadLetter[],
): Promise<void> => {
  const marks = marksIn(tx, liveSchema(name), topicPartition);
  if (log.mayRepeatLedger && sequences?.[topicPartition.topic]) {
    // The rows have the sequences of the applied events.
    await marks.delete(raised.keys());
    await marks.write(highestOf(remaining));
  } else await marks.write(raised);
};

/**
 * Retries the dead letters of a live projection: those of a subject in order, up to the first failure, which is written
 * back with all after it. The projector may run meanwhile. The signal takes effect between two transactions.
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
  let last: StoredDeadLetter | undefined;
  do {
    signal?.throwIfAborted();
    const from: StoredDeadLetter | undefined = last;
    last = await transaction(pool, async (tx) => {
      await tx.query(ownSchema(projection.name));
      const deadLetters = await takeDeadLetters(tx, schema, from);
      const [topicPartition] = deadLetters;
      if (!topicPartition) return undefined;
      const incoming = deadLetters
        .map((deadLetter) => readRecord(topicPartition.topic, deadLetter))
        .sort((a, b) => a.record.offset - b.record.offset);
      // The stored high-water marks are past these events, so only repeats among the dead letters are detected. They exist
      // if a record was unreadable before and thus had no sequence.
      const { fresh, raised } = dropRepeats(incoming, new Map(), log);
      const { partition } = topicPartition;
      const remaining = await applyOrSetAside(
        tx,
        projection,
        schema,
        topicPartition,
        fresh,
        new Set(),
      );
      const failed = new Set(remaining.map((deadLetter) => deadLetter.incoming));
      const applied = fresh.flatMap((record) =>
        'event' in record && !failed.has(record) ? [record] : [],
      );
      await projection.redriven?.(
        tx,
        schema,
        changesOf(projection, topicPartition, applied),
        partition,
      );
      await insertDeadLetters(tx, schema, topicPartition, remaining);
      await saveMarks(tx, projection, topicPartition, log, raised, remaining);
      total.applied += applied.length;
      total.repeats += incoming.length - fresh.length;
      total.remaining += remaining.length;
      return deadLetters.at(-1);
    });
  } while (last);
  return total;
};
