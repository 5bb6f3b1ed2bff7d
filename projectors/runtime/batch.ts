import type { Batch, EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { lockCheckpoint, moveCheckpoint } from './checkpoints.js';
import { blockedSubjects, insertDeadLetters, type DeadLetter } from './dead-letters.js';
import { applyOrSetAside } from './isolate.js';
import { shareSchema } from './locks.js';
import { dropRepeats, readHighWaterMarks, writeHighWaterMarks } from './high-water-marks.js';
import { liveSchema, type ProjectionSchema } from './names.js';
import type { Projection } from './projection.js';
import { readRecord } from './readings.js';

/** What became of a batch's records; the four numbers add up to them. */
export interface BatchOutcome {
  readonly applied: number;
  readonly repeats: number;
  /** Records that cannot be read or applied. */
  readonly deadLetters: number;
  /** Events that wait behind a dead letter of their subject. */
  readonly parked: number;
}

export type BatchHandler = (batch: Batch) => Promise<BatchOutcome>;

interface Target {
  readonly projection: Projection;
  /** The live schema unless told. */
  readonly schema?: ProjectionSchema;
  readonly log: Pick<EventLog, 'logId'>;
}

/**
 * Applies one batch in the caller's transaction: rows, marks, dead letters and checkpoint together.
 *
 * @throws BatchNotAtCheckpoint, and what no event is to blame for: the batch is to be tried again
 */
export const applyBatch = async (
  tx: Client,
  { projection, schema = liveSchema(projection.name), log }: Target,
  batch: Batch,
): Promise<{ readonly outcome: BatchOutcome; readonly letters: readonly DeadLetter[] }> => {
  const { topic, partition } = batch;
  const logId = log.logId(topic);
  // The answer to COMMIT does not wait for the disk. A crash of PostgreSQL may take the last batches
  // back, but rows and checkpoint together, so they are folded once more.
  await tx.query('SET LOCAL synchronous_commit = off');
  // The schema that a rebuild fills is renamed by nobody but that rebuild.
  if (schema === liveSchema(projection.name)) await tx.query(shareSchema(projection.name));
  await lockCheckpoint(tx, schema, batch, logId);

  const readings = batch.records.map((record) => readRecord(topic, record));
  const marks = await readHighWaterMarks(tx, schema, topic, partition, readings);
  const { fresh, raised } = dropRepeats(readings, marks);
  const blocked = await blockedSubjects(tx, schema, topic, fresh);
  const letters = await applyOrSetAside(tx, projection, schema, fresh, blocked);

  await insertDeadLetters(tx, schema, topic, partition, letters);
  await writeHighWaterMarks(tx, schema, topic, partition, raised);
  await moveCheckpoint(tx, schema, batch, logId);

  const parked = letters.filter(({ error }) => error === null).length;
  return {
    letters,
    outcome: {
      applied: fresh.length - letters.length,
      repeats: readings.length - fresh.length,
      deadLetters: letters.length - parked,
      parked,
    },
  };
};

/** A handler of batches, each in a transaction of its own: effectively once. */
export const createBatchHandler = (
  options: Target & { readonly pool: Pool; readonly logger: Logger },
): BatchHandler => {
  const { pool, logger, projection } = options;
  return async (batch) => {
    const { outcome, letters } = await transaction(pool, (tx) => applyBatch(tx, options, batch));
    if (letters.length > 0) {
      const { topic, partition } = batch;
      // Offsets only: values, and messages that quote them, are no matter for a log.
      const offsets = letters.slice(0, 10).map(({ reading }) => reading.record.offset);
      logger.error(
        { projection: projection.name, topic, partition, ...outcome, offsets },
        'records were set aside as dead letters',
      );
    }
    return outcome;
  };
};
