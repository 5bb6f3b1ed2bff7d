import type { Batch, Delivery, EventLog } from '../../ops/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import {
  planByKey,
  transaction,
  type Client,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import {
  moveCheckpoints,
  requireAtCheckpoint,
  requireAtCheckpoints,
  shareSchema,
} from './checkpoints.js';
import {
  applyOrSetAside,
  attempt,
  highestOf,
  insertDeadLetters,
  offsetsOf,
  type DeadLetter,
} from './dead-letters.js';
import { Deduplicator } from './deduplicator.js';
import { writeHighWaterMarks, type HighWaterMarks } from './high-water-marks.js';
import { liveSchema, type Projection, type ProjectionSchema } from './projection.js';
import { insertGaps, type SequenceGap } from './sequence-gaps.js';
import { addToBlocks, type SpoolBlock } from './spool-blocks.js';
import { UnknownEventType } from '../../schemas/events/codec.js';
import { isUnknown, readRecord } from './read-record.js';

export interface BatchOutcome {
  readonly applied: number;
  readonly repeats: number;
  /** Records that cannot be read or applied. */
  readonly deadLetters: number;
  /** Events after a dead letter of their subject. */
  readonly parked: number;
}

export type BatchHandler = (batch: Delivery) => Promise<BatchOutcome>;

export type ReadLog = Pick<EventLog, 'logId' | 'mayRepeatLedger'>;

interface BatchTarget {
  readonly projection: Projection;
  /** The live schema by default. */
  readonly schema?: ProjectionSchema;
  readonly log: ReadLog;
}

/** Records of a partition that are in memory as parsed events at the same time. */
const chunkSize = 1_000;

interface PreparedBatch {
  readonly batch: Delivery;
  readonly changes: unknown[];
  /** The number of records that are not repeats. */
  fresh: number;
  /** The number of fresh records that are neither broken nor after a dead letter. */
  applicable: number;
  /** The high-water marks that the fresh records raise. */
  marks: HighWaterMarks;
  gaps: readonly SequenceGap[];
  blocks: readonly SpoolBlock[];
}

const hasDeadLetters = ({ applicable, fresh }: PreparedBatch): boolean => applicable < fresh;

/** Returns the marks to store: if the projection's rows have the sequences, only those of dead letters. */
const marksToStore = (
  { sequences }: Projection,
  { mayRepeatLedger }: ReadLog,
  { batch, marks }: PreparedBatch,
  deadLetters: readonly DeadLetter[] = [],
): HighWaterMarks => (mayRepeatLedger && sequences?.[batch.topic] ? highestOf(deadLetters) : marks);

const readChanges = async (
  tx: Client,
  projection: Projection,
  schema: ProjectionSchema,
  batches: readonly Delivery[],
  log: ReadLog,
): Promise<readonly PreparedBatch[]> => {
  const reader = new Deduplicator(tx, schema, log, projection.sequences);
  const prepared = batches.map((batch): PreparedBatch => {
    return { batch, changes: [], fresh: 0, applicable: 0, marks: new Map(), gaps: [], blocks: [] };
  });
  const longest = Math.max(...batches.map(({ records }) => records.length));
  for (let from = 0; from < longest; from += chunkSize) {
    const unfinished = prepared.filter(({ batch }) => batch.records.length > from);
    const chunks = unfinished.map(({ batch }) => {
      return { ...batch, records: batch.records.slice(from, from + chunkSize) };
    });
    const results = await reader.read(chunks);
    results.forEach(({ fresh, raised, blocked, gaps, blocks }, index) => {
      const target = unfinished[index];
      if (!target) return;
      target.fresh += fresh.length;
      target.marks = raised;
      if (projection.checksSequencesOf?.includes(target.batch.topic)) {
        target.gaps = gaps;
        target.blocks = blocks.blocks();
      }
      for (const record of fresh) {
        if (!('event' in record) || blocked.has(record.subject)) continue;
        target.applicable += 1;
        const change = projection.toChange(record.event);
        if (change !== null) target.changes.push(change);
      }
    });
  }
  return prepared;
};

export const saveProgress = async (
  tx: Client,
  schema: ProjectionSchema,
  done: readonly { readonly batch: Delivery; readonly marks: HighWaterMarks }[],
  log: Pick<EventLog, 'logId'>,
): Promise<void> => {
  const marks = done.map(({ batch: { topic, partition }, ...raised }) => {
    return { topic, partition, marks: raised.marks };
  });
  const batches = done.map(({ batch }) => batch);
  await Promise.all([
    writeHighWaterMarks(tx, schema, marks),
    moveCheckpoints(tx, schema, batches, log),
  ]);
};

/** Saves the missing events before batches, and the number of visits of each spool. */
const saveSequences = async (
  tx: Client,
  schema: ProjectionSchema,
  done: readonly PreparedBatch[],
): Promise<void> => {
  const gaps = done.flatMap((prepared) => prepared.gaps);
  const blocks = done.map(({ batch: { partition }, ...counted }) => {
    return { partition, blocks: counted.blocks };
  });
  await Promise.all([insertGaps(tx, schema, gaps), addToBlocks(tx, schema, blocks)]);
};

/** COMMIT is asynchronous, because rows and checkpoints that a crash of PostgreSQL undoes are applied again. */
const settings = `SET LOCAL synchronous_commit = off; ${planByKey('LOCAL')}`;

/**
 * Applies one batch in the caller's transaction: rows, high-water marks, dead letters and checkpoint.
 *
 * @throws BatchNotAtCheckpoint, UnknownEventType; errors that are not caused by an event, after which the batch must be
 *   retried
 */
export const applyBatch = async (
  tx: Client,
  { projection, schema = liveSchema(projection.name), log }: BatchTarget,
  batch: Delivery,
): Promise<{
  readonly outcome: BatchOutcome;
  readonly deadLetters: readonly DeadLetter[];
  readonly gaps: readonly SequenceGap[];
}> => {
  const logId = log.logId(batch.topic);
  await Promise.all([
    tx.query(settings),
    // Only the rebuild itself renames the schema that it fills.
    schema === liveSchema(projection.name) ? tx.query(shareSchema(projection.name)) : null,
    requireAtCheckpoint(tx, schema, batch, logId, 'FOR UPDATE'),
  ]);

  const { partition } = batch;
  const [prepared] = await readChanges(tx, projection, schema, [batch], log);
  if (!prepared) throw new Error('readChanges() returned 0 results for 1 batch');
  let deadLetters: readonly DeadLetter[] = [];
  if (
    hasDeadLetters(prepared) ||
    (await attempt(tx, projection, schema, partition, prepared.changes)) !== null
  ) {
    const reader = new Deduplicator(tx, schema, log, projection.sequences);
    const whole = { ...batch, records: batch.records.slice() };
    for (const { fresh, blocked } of await reader.read([whole])) {
      deadLetters = await applyOrSetAside(tx, projection, schema, partition, fresh, blocked);
    }
  }
  const marks = marksToStore(projection, log, prepared, deadLetters);
  await Promise.all([
    insertDeadLetters(tx, schema, batch, deadLetters),
    saveProgress(tx, schema, [{ batch, marks }], log),
    saveSequences(tx, schema, [prepared]),
  ]);

  const parked = deadLetters.filter(({ error }) => error === null).length;
  return {
    deadLetters,
    gaps: prepared.gaps,
    outcome: {
      applied: prepared.fresh - deadLetters.length,
      repeats: batch.records.length - prepared.fresh,
      deadLetters: deadLetters.length - parked,
      parked,
    },
  };
};

/** Some of the records are broken or follow dead letters, so their batch must be handled alone. */
class SomeSetAside extends Error {
  readonly code = 'SOME_SET_ASIDE';

  constructor({ topic, partition }: Delivery) {
    super(`Records of ${topic}/${partition} must be set aside`);
  }
}

/** Limits how many projections of the process apply changes concurrently. */
export type Limit = (apply: () => Promise<void>) => Promise<void>;

/**
 * Returns a handler that applies batches of several partitions in one transaction, which saves a dozen statements for each
 * partition. It fails if a record must be set aside. Statements with `changesPerStatement` changes run within `limit`,
 * which other projections share.
 */
export const createJointHandler = ({
  projection,
  log,
  pool,
  limit,
}: BatchTarget & { readonly pool: Pool; readonly limit: Limit }): ((
  batches: readonly Batch[],
) => Promise<void>) => {
  const schema = liveSchema(projection.name);
  return (batches) =>
    transaction(pool, async (tx) => {
      await Promise.all([
        tx.query(settings),
        tx.query(shareSchema(projection.name)),
        requireAtCheckpoints(tx, schema, batches, log),
      ]);
      const prepared = await readChanges(tx, projection, schema, batches, log);
      const setAside = prepared.find(hasDeadLetters);
      if (setAside) throw new SomeSetAside(setAside.batch);
      await applyTogether(tx, projection, prepared, limit);
      const done = prepared.map((part) => {
        return { batch: part.batch, marks: marksToStore(projection, log, part) };
      });
      await Promise.all([saveProgress(tx, schema, done, log), saveSequences(tx, schema, prepared)]);
    });
};

const applyTogether = async (
  tx: Client,
  projection: Projection,
  prepared: readonly PreparedBatch[],
  limit: Limit,
): Promise<void> => {
  const schema = liveSchema(projection.name);
  const [first] = prepared;
  const parts: readonly Pick<PreparedBatch, 'batch' | 'changes'>[] =
    projection.isPartitioned || !first
      ? prepared
      : [{ batch: first.batch, changes: prepared.flatMap((part) => part.changes) }];
  for (const { batch, changes } of parts) {
    const { changesPerStatement } = projection;
    const length = changesPerStatement ?? changes.length;
    for (let from = 0; from < changes.length; from += length) {
      const portion = changes.slice(from, from + length);
      const apply = () => projection.apply(tx, schema, portion, batch.partition);
      await (changesPerStatement === undefined ? apply() : limit(apply));
    }
  }
};

/** Returns a handler that applies each batch in its own transaction, effectively once. */
export const createBatchHandler = (
  options: BatchTarget & { readonly pool: Pool; readonly logger: Logger },
): BatchHandler => {
  const { pool, logger, projection, schema = liveSchema(projection.name) } = options;
  const handle: BatchHandler = async (batch) => {
    const { outcome, deadLetters, gaps } = await transaction(pool, (tx) =>
      applyBatch(tx, options, batch),
    );
    // The live projection has already reported the gaps that a rebuild finds.
    if (schema === liveSchema(projection.name)) {
      for (const { subject, topic, partition, first, last } of gaps) {
        const missing = last - first + 1;
        logger.error(
          { projection: projection.name, topic, partition, subject, sequence: first, missing },
          'events of a subject are missing from the log',
        );
      }
    }
    if (deadLetters.length > 0) {
      const { topic, partition } = batch;
      const offsets = offsetsOf(deadLetters);
      logger.error(
        { projection: projection.name, topic, partition, ...outcome, offsets },
        'records were set aside as dead letters',
      );
    }
    return outcome;
  };
  return async (batch) => {
    try {
      return await handle(batch);
    } catch (error) {
      if (!(error instanceof UnknownEventType)) throw error;
      const { topic, partition, records } = batch;
      const known = records.slice().findIndex((record) => isUnknown(readRecord(topic, record)));
      if (known > 0) await handle({ ...batch, records: records.slice(0, known) });
      logger.error(
        { projection: projection.name, topic, partition, type: error.type },
        'partition stopped at an event of a later version of Linklog: run that version here too',
      );
      throw error;
    }
  };
};
