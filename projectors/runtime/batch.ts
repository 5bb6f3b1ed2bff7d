import type { Batch, EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { arrayLiteral } from '../../ops/platform/postgres/array-literal.js';
import {
  planByKey,
  transaction,
  type Client,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { originOf } from '../../schemas/events/envelope.js';
import {
  moveCheckpoint,
  requireAtCheckpoint,
  requireAtCheckpoints,
  shareSchema,
} from './checkpoints.js';
import {
  applyOrSetAside,
  highestOf,
  insertDeadLetters,
  offsetsOf,
  type DeadLetter,
} from './dead-letters.js';
import {
  dropRepeats,
  readHighWaterMarks,
  writeHighWaterMarks,
  type HighWaterMarks,
} from './high-water-marks.js';
import {
  liveSchema,
  type Projection,
  type ProjectionSchema,
  type ReadSequences,
} from './projection.js';
import { UnknownEventType } from '../../schemas/events/codec.js';
import { isUnknown, readBatch, readRecord } from './read-record.js';

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
 * Reads a batch as events, without the repeats. `blocked` are the subjects that have dead letters: their
 * later events are parked.
 */
export const readFresh = async (
  tx: Client,
  schema: ProjectionSchema,
  batch: Batch,
  readSequences?: ReadSequences,
) => {
  const { topic } = batch;
  const incoming = readBatch(batch);
  const origins = incoming.flatMap((one) => ('event' in one ? [originOf(one.event)] : []));
  const distinct = [...new Set(origins)];
  const [{ marks, newest }, sequences, { rows: letters }] = await Promise.all([
    readHighWaterMarks(tx, schema, batch, distinct),
    readSequences?.(tx, schema, distinct) ?? [],
    tx.query<{ subject: string }>({
      name: `dead-letters-of-${schema}`,
      text: `SELECT DISTINCT subject FROM ${schema}.dead_letters
             WHERE topic = $1 AND subject = ANY ($2::text[])`,
      values: [topic, arrayLiteral([...new Set(incoming.map(({ subject }) => subject))])],
    }),
  ]);
  for (const [origin, sequence] of sequences) {
    if (sequence > (marks.get(origin)?.sequence ?? 0)) marks.set(origin, { sequence, day: null });
  }
  const { fresh, raised } = dropRepeats(incoming, marks, newest);
  return { fresh, raised, blocked: new Set(letters.map(({ subject }) => subject)) };
};

/** Saves that a batch is handled: its dead letters, the raised high-water marks, the checkpoint. */
export const saveProgress = async (
  tx: Client,
  schema: ProjectionSchema,
  batch: Batch,
  logId: string,
  done: { readonly letters: readonly DeadLetter[]; readonly raised: HighWaterMarks },
): Promise<void> => {
  await Promise.all([
    insertDeadLetters(tx, schema, batch, done.letters),
    writeHighWaterMarks(tx, schema, batch, done.raised),
    moveCheckpoint(tx, schema, batch, logId),
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
  batch: Batch,
): Promise<{ readonly outcome: BatchOutcome; readonly letters: readonly DeadLetter[] }> => {
  const logId = log.logId(batch.topic);
  await Promise.all([
    tx.query(settings),
    // Only its own rebuild renames the schema that a rebuild fills.
    schema === liveSchema(projection.name) ? tx.query(shareSchema(projection.name)) : null,
    requireAtCheckpoint(tx, schema, batch, logId, 'FOR UPDATE'),
  ]);

  const readSequences = projection.sequences?.[batch.topic];
  const due = await readFresh(tx, schema, batch, readSequences);
  const { fresh } = due;
  const letters = await applyOrSetAside(
    tx,
    projection,
    schema,
    batch.partition,
    fresh,
    due.blocked,
  );
  const raised = readSequences ? highestOf(letters) : due.raised;
  await saveProgress(tx, schema, batch, logId, { letters, raised });

  const parked = letters.filter(({ error }) => error === null).length;
  return {
    letters,
    outcome: {
      applied: fresh.length - letters.length,
      repeats: batch.records.length - fresh.length,
      deadLetters: letters.length - parked,
      parked,
    },
  };
};

/** Some of the records are broken, or wait behind dead letters. */
class SomeSetAside extends Error {
  readonly code = 'SOME_SET_ASIDE';

  constructor({ topic, partition }: Batch) {
    super(`Not all records of ${topic}/${partition} can simply be applied`);
  }
}

/**
 * Returns a handler that applies batches of several partitions in one transaction, as long as nothing is to be set
 * aside: a dozen statements rather than a dozen for each partition.
 *
 * @throws whatever keeps one of the batches from being applied: none of them was
 */
export const createJointHandler = ({
  projection,
  log,
  pool,
}: BatchTarget & { readonly pool: Pool }): ((batches: readonly Batch[]) => Promise<void>) => {
  const schema = liveSchema(projection.name);
  const { sequences = {} } = projection;

  const readEvents = async (tx: Client, batch: Batch) => {
    const due = await readFresh(tx, schema, batch, sequences[batch.topic]);
    const events = due.fresh.flatMap((one) =>
      'event' in one && !due.blocked.has(one.subject) ? [one.event] : [],
    );
    if (events.length < due.fresh.length) throw new SomeSetAside(batch);
    const raised = sequences[batch.topic] ? highestOf([]) : due.raised;
    return { batch, events, raised };
  };

  return (batches) =>
    transaction(pool, async (tx) => {
      await Promise.all([
        tx.query(settings),
        tx.query(shareSchema(projection.name)),
        requireAtCheckpoints(tx, schema, batches, log),
      ]);
      const due = await Promise.all(batches.map((batch) => readEvents(tx, batch)));
      await applyTogether(tx, projection, due);
      await Promise.all(
        due.map(({ batch, raised }) =>
          saveProgress(tx, schema, batch, log.logId(batch.topic), { letters: [], raised }),
        ),
      );
    });
};

const applyTogether = async (
  tx: Client,
  projection: Projection,
  due: readonly { readonly batch: Batch; readonly events: readonly LinklogEvent[] }[],
): Promise<void> => {
  const schema = liveSchema(projection.name);
  const [first] = due;
  const parts =
    projection.isPartitioned || !first
      ? due
      : [{ batch: first.batch, events: due.flatMap(({ events }) => events) }];
  for (const { batch, events } of parts) {
    if (events.length > 0) await projection.apply(tx, schema, events, batch.partition);
  }
};

/** Returns a handler that applies each batch in a transaction of its own: effectively once. */
export const createBatchHandler = (
  options: BatchTarget & { readonly pool: Pool; readonly logger: Logger },
): BatchHandler => {
  const { pool, logger, projection } = options;
  const handle: BatchHandler = async (batch) => {
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
  return async (batch) => {
    try {
      return await handle(batch);
    } catch (error) {
      if (!(error instanceof UnknownEventType)) throw error;
      const { topic, partition, records } = batch;
      const known = records.findIndex((record) => isUnknown(readRecord(topic, record)));
      if (known > 0) await handle({ ...batch, records: records.slice(0, known) });
      logger.error(
        { projection: projection.name, topic, partition, type: error.type },
        'partition stopped at an event of a later version of Linklog: run that version here too',
      );
      throw error;
    }
  };
};
