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
import { FreshRecords } from './fresh-records.js';
import { writeHighWaterMarks, type HighWaterMarks } from './high-water-marks.js';
import { liveSchema, type Projection, type ProjectionSchema } from './projection.js';
import { insertGaps, type SequenceGap } from './sequence-gaps.js';
import { addToBlocks, type SpoolBlock } from './spool-blocks.js';
import { UnknownEventType } from '../../schemas/events/codec.js';
import { isUnknown, readRecord } from './read-record.js';

/** What became of a batch's records; the four numbers add up to the number of records. */
export interface BatchOutcome {
  readonly applied: number;
  readonly repeats: number;
  /** Records that cannot be read or applied. */
  readonly deadLetters: number;
  /** Events that wait behind a dead letter of their subject. */
  readonly parked: number;
}

export type BatchHandler = (batch: Delivery) => Promise<BatchOutcome>;

/** What a projection needs to know of the log whose batches it gets. */
export type ReadLog = Pick<EventLog, 'logId' | 'mayRepeatLedger'>;

interface BatchTarget {
  readonly projection: Projection;
  /** The live schema by default. */
  readonly schema?: ProjectionSchema;
  readonly log: ReadLog;
}

/** Records of a partition that are in memory as events together. */
const eventsAtOnce = 1_000;

/** What a projection makes of a batch, without the repeats. */
interface Due {
  readonly batch: Delivery;
  readonly facts: unknown[];
  /** Records that are no repeats. */
  fresh: number;
  /** Those of them that are neither broken nor behind a dead letter. */
  readable: number;
  /** That all of them have raised. */
  marks: HighWaterMarks;
  /** Events that are missing before them. */
  gaps: readonly SequenceGap[];
  /** Their visits, by spools. */
  blocks: readonly SpoolBlock[];
}

const hasLetters = ({ readable, fresh }: Due): boolean => readable < fresh;

/** The marks to keep of a batch: where the rows have the sequences, those of its dead letters alone. */
const marksToKeep = (
  { sequences }: Projection,
  { mayRepeatLedger }: ReadLog,
  { batch, marks }: Due,
  letters: readonly DeadLetter[] = [],
): HighWaterMarks => (mayRepeatLedger && sequences?.[batch.topic] ? highestOf(letters) : marks);

const readFacts = async (
  tx: Client,
  projection: Projection,
  schema: ProjectionSchema,
  batches: readonly Delivery[],
  log: ReadLog,
): Promise<readonly Due[]> => {
  const reader = new FreshRecords(tx, schema, log, projection.sequences);
  const all = batches.map((batch): Due => {
    return { batch, facts: [], fresh: 0, readable: 0, marks: new Map(), gaps: [], blocks: [] };
  });
  const longest = Math.max(...batches.map(({ records }) => records.length));
  for (let from = 0; from < longest; from += eventsAtOnce) {
    const due = all.filter(({ batch }) => batch.records.length > from);
    const pieces = due.map(({ batch }) => {
      return { ...batch, records: batch.records.slice(from, from + eventsAtOnce) };
    });
    const read = await reader.read(pieces);
    read.forEach(({ fresh, raised, blocked, gaps, blocks }, index) => {
      const of = due[index];
      if (!of) return;
      of.fresh += fresh.length;
      of.marks = raised;
      if (projection.checksSequencesOf?.includes(of.batch.topic)) {
        of.gaps = gaps;
        of.blocks = blocks.blocks();
      }
      for (const one of fresh) {
        if (!('event' in one) || blocked.has(one.subject)) continue;
        of.readable += 1;
        const fact = projection.factOf(one.event);
        if (fact !== null) of.facts.push(fact);
      }
    });
  }
  return all;
};

/** Saves that batches are handled: the raised high-water marks, the checkpoints. */
export const saveProgress = async (
  tx: Client,
  schema: ProjectionSchema,
  done: readonly { readonly batch: Delivery; readonly marks: HighWaterMarks }[],
  log: Pick<EventLog, 'logId'>,
): Promise<void> => {
  await Promise.all([
    writeHighWaterMarks(
      tx,
      schema,
      done.map(({ batch: { topic, partition }, marks }) => ({ topic, partition, marks })),
    ),
    moveCheckpoints(
      tx,
      schema,
      done.map(({ batch }) => batch),
      log,
    ),
  ]);
};

/** Saves which events are missing before batches, and how many visits of each spool they have. */
const saveSequences = async (
  tx: Client,
  schema: ProjectionSchema,
  done: readonly Due[],
): Promise<void> => {
  await Promise.all([
    insertGaps(
      tx,
      schema,
      done.flatMap(({ gaps }) => gaps),
    ),
    addToBlocks(
      tx,
      schema,
      done.map(({ batch: { partition }, blocks }) => ({ partition, blocks })),
    ),
  ]);
};

/**
 * COMMIT does not wait for the disk. A crash of PostgreSQL may undo the last batches, but rows and checkpoint together,
 * so they are applied again.
 */
const settings = `SET LOCAL synchronous_commit = off; ${planByKey('LOCAL')}`;

/**
 * Applies one batch in the caller's transaction: rows, high-water marks, dead letters and checkpoint.
 *
 * @throws BatchNotAtCheckpoint, UnknownEventType; errors that no event is to blame for: the batch is to be
 * tried again
 */
export const applyBatch = async (
  tx: Client,
  { projection, schema = liveSchema(projection.name), log }: BatchTarget,
  batch: Delivery,
): Promise<{
  readonly outcome: BatchOutcome;
  readonly letters: readonly DeadLetter[];
  readonly gaps: readonly SequenceGap[];
}> => {
  const logId = log.logId(batch.topic);
  await Promise.all([
    tx.query(settings),
    // Only its own rebuild renames the schema that a rebuild fills.
    schema === liveSchema(projection.name) ? tx.query(shareSchema(projection.name)) : null,
    requireAtCheckpoint(tx, schema, batch, logId, 'FOR UPDATE'),
  ]);

  const { partition } = batch;
  const [due] = await readFacts(tx, projection, schema, [batch], log);
  if (!due) throw new Error('A batch was not read');
  let letters: readonly DeadLetter[] = [];
  if (hasLetters(due) || (await attempt(tx, projection, schema, partition, due.facts)) !== null) {
    const reader = new FreshRecords(tx, schema, log, projection.sequences);
    for (const { fresh, blocked } of await reader.read([
      { ...batch, records: batch.records.slice() },
    ])) {
      letters = await applyOrSetAside(tx, projection, schema, partition, fresh, blocked);
    }
  }
  const marks = marksToKeep(projection, log, due, letters);
  await Promise.all([
    insertDeadLetters(tx, schema, batch, letters),
    saveProgress(tx, schema, [{ batch, marks }], log),
    saveSequences(tx, schema, [due]),
  ]);

  const parked = letters.filter(({ error }) => error === null).length;
  return {
    letters,
    gaps: due.gaps,
    outcome: {
      applied: due.fresh - letters.length,
      repeats: batch.records.length - due.fresh,
      deadLetters: letters.length - parked,
      parked,
    },
  };
};

/** Some of the records are broken, or wait behind dead letters. */
class SomeSetAside extends Error {
  readonly code = 'SOME_SET_ASIDE';

  constructor({ topic, partition }: Delivery) {
    super(`Not all records of ${topic}/${partition} can simply be applied`);
  }
}

/** Limits how many projections of the process apply facts at the same time. */
export type Limit = (apply: () => Promise<void>) => Promise<void>;

/**
 * Returns a handler that applies batches of several partitions in one transaction, as long as nothing is to be set
 * aside: a dozen statements rather than a dozen for each partition. Facts that are applied in pieces are applied
 * within `limit`.
 *
 * @throws whatever keeps one of the batches from being applied: none of them was
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
      const due = await readFacts(tx, projection, schema, batches, log);
      const setAside = due.find(hasLetters);
      if (setAside) throw new SomeSetAside(setAside.batch);
      await applyTogether(tx, projection, due, limit);
      const done = due.map((one) => {
        return { batch: one.batch, marks: marksToKeep(projection, log, one) };
      });
      await Promise.all([saveProgress(tx, schema, done, log), saveSequences(tx, schema, due)]);
    });
};

const applyTogether = async (
  tx: Client,
  projection: Projection,
  due: readonly Due[],
  limit: Limit,
): Promise<void> => {
  const schema = liveSchema(projection.name);
  const [first] = due;
  const parts: readonly Pick<Due, 'batch' | 'facts'>[] =
    projection.isPartitioned || !first
      ? due
      : [{ batch: first.batch, facts: due.flatMap(({ facts }) => facts) }];
  for (const { batch, facts } of parts) {
    const { factsAtOnce } = projection;
    const length = factsAtOnce ?? facts.length;
    for (let from = 0; from < facts.length; from += length) {
      const piece = facts.slice(from, from + length);
      const apply = () => projection.apply(tx, schema, piece, batch.partition);
      await (factsAtOnce === undefined ? apply() : limit(apply));
    }
  }
};

/** Returns a handler that applies each batch in a transaction of its own: effectively once. */
export const createBatchHandler = (
  options: BatchTarget & { readonly pool: Pool; readonly logger: Logger },
): BatchHandler => {
  const { pool, logger, projection, schema = liveSchema(projection.name) } = options;
  const handle: BatchHandler = async (batch) => {
    const { outcome, letters, gaps } = await transaction(pool, (tx) =>
      applyBatch(tx, options, batch),
    );
    // A rebuild finds again what the live projection has reported.
    if (schema === liveSchema(projection.name)) {
      for (const { subject, topic, partition, first, last } of gaps) {
        const missing = last - first + 1;
        logger.error(
          { projection: projection.name, topic, partition, subject, sequence: first, missing },
          'events of a subject are missing from the log',
        );
      }
    }
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
