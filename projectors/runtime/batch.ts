import type { Batch, EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import {
  dropKnownRepeats,
  moveCheckpoint,
  requireAtCheckpoint,
  shareSchema,
  writeHighWaterMarks,
} from './checkpoints.js';
import {
  applyOrSetAside,
  blockedSubjects,
  insertDeadLetters,
  offsetsOf,
  type DeadLetter,
} from './dead-letters.js';
import { liveSchema, type Projection, type ProjectionSchema } from './projection.js';
import { readRecord } from './read-record.js';

/** What became of a batch's records; the four numbers add up to the number of records. */
export interface BatchOutcome {
  readonly applied: number;
  readonly repeats: number;
  /** Records that cannot be read or applied. */
  readonly deadLetters: number;
  /** Events that wait behind a dead letter of their subject. */
  readonly parked: number;
}

export type BatchHandler = (batch: Batch) => Promise<BatchOutcome>;

interface BatchTarget {
  readonly projection: Projection;
  /** The live schema by default. */
  readonly schema?: ProjectionSchema;
  readonly log: Pick<EventLog, 'logId'>;
}

/**
 * Applies one batch in the caller's transaction: rows, high-water marks, dead letters and checkpoint.
 *
 * @throws BatchNotAtCheckpoint; errors that no event is to blame for: the batch is to be tried again
 */
export const applyBatch = async (
  tx: Client,
  { projection, schema = liveSchema(projection.name), log }: BatchTarget,
  batch: Batch,
): Promise<{ readonly outcome: BatchOutcome; readonly letters: readonly DeadLetter[] }> => {
  const logId = log.logId(batch.topic);
  // COMMIT does not wait for the disk. A crash of PostgreSQL may undo the last batches, but rows and
  // checkpoint together, so they are applied again.
  await tx.query('SET LOCAL synchronous_commit = off');
  // Only its own rebuild renames the schema that a rebuild fills.
  if (schema === liveSchema(projection.name)) await tx.query(shareSchema(projection.name));
  await requireAtCheckpoint(tx, schema, batch, logId, 'FOR UPDATE');

  const incoming = batch.records.map((record) => readRecord(batch.topic, record));
  const { fresh, raised } = await dropKnownRepeats(tx, schema, batch, incoming);
  const blocked = await blockedSubjects(tx, schema, batch, fresh);
  const letters = await applyOrSetAside(tx, projection, schema, fresh, blocked);

  await insertDeadLetters(tx, schema, batch, letters);
  await writeHighWaterMarks(tx, schema, batch, raised);
  await moveCheckpoint(tx, schema, batch, logId);

  const parked = letters.filter(({ error }) => error === null).length;
  return {
    letters,
    outcome: {
      applied: fresh.length - letters.length,
      repeats: incoming.length - fresh.length,
      deadLetters: letters.length - parked,
      parked,
    },
  };
};

/** Returns a handler that applies each batch in a transaction of its own: effectively once. */
export const createBatchHandler = (
  options: BatchTarget & { readonly pool: Pool; readonly logger: Logger },
): BatchHandler => {
  const { pool, logger, projection } = options;
  return async (batch) => {
    const { outcome, letters } = await transaction(pool, (tx) => applyBatch(tx, options, batch));
    if (letters.length > 0) {
      const { topic, partition } = batch;
      const offsets = offsetsOf(letters);
      logger.error(
        { projection: projection.name, topic, partition, ...outcome, offsets },
        'records were set aside as dead letters',
      );
    }
    return outcome;
  };
};
