import type { Batch, EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import {
  planByKey,
  transaction,
  type Client,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import {
  moveCheckpoint,
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

export type BatchHandler = (batch: Batch) => Promise<BatchOutcome>;

interface BatchTarget {
  readonly projection: Projection;
  /** The live schema by default. */
  readonly schema?: ProjectionSchema;
  readonly log: Pick<EventLog, 'logId'>;
}

/** Records that are in memory as events together. */
const eventsAtOnce = 1_000;

/** What a projection makes of a batch, without the repeats. */
const readFacts = async (
  tx: Client,
  projection: Projection,
  schema: ProjectionSchema,
  batch: Batch,
) => {
  const { topic, records } = batch;
  const reader = new FreshRecords(tx, schema, batch, projection.sequences?.[topic]);
  const facts: unknown[] = [];
  let fresh = 0;
  let readable = 0;
  for (let from = 0; from < records.length; from += eventsAtOnce) {
    for (const one of await reader.read(records.slice(from, from + eventsAtOnce))) {
      fresh += 1;
      if (!('event' in one) || reader.blocked.has(one.subject)) continue;
      readable += 1;
      const fact = projection.factOf(one.event);
      if (fact !== null) facts.push(fact);
    }
  }
  const { raised } = reader;
  return { facts, fresh, raised, hasLetters: readable < fresh };
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

  const { topic, partition } = batch;
  const readSequences = projection.sequences?.[topic];
  const due = await readFacts(tx, projection, schema, batch);
  let letters: readonly DeadLetter[] = [];
  if (due.hasLetters || (await attempt(tx, projection, schema, partition, due.facts)) !== null) {
    const reader = new FreshRecords(tx, schema, batch, readSequences);
    const fresh = await reader.read(batch.records);
    letters = await applyOrSetAside(tx, projection, schema, partition, fresh, reader.blocked);
  }
  const raised = readSequences ? highestOf(letters) : due.raised;
  await saveProgress(tx, schema, batch, logId, { letters, raised });

  const parked = letters.filter(({ error }) => error === null).length;
  return {
    letters,
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

  const readDue = async (tx: Client, batch: Batch) => {
    const { facts, raised, hasLetters } = await readFacts(tx, projection, schema, batch);
    if (hasLetters) throw new SomeSetAside(batch);
    return { batch, facts, raised: sequences[batch.topic] ? highestOf([]) : raised };
  };

  return (batches) =>
    transaction(pool, async (tx) => {
      await Promise.all([
        tx.query(settings),
        tx.query(shareSchema(projection.name)),
        requireAtCheckpoints(tx, schema, batches, log),
      ]);
      const due = await Promise.all(batches.map((batch) => readDue(tx, batch)));
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
  due: readonly { readonly batch: Batch; readonly facts: readonly unknown[] }[],
): Promise<void> => {
  const schema = liveSchema(projection.name);
  const [first] = due;
  const parts =
    projection.isPartitioned || !first
      ? due
      : [{ batch: first.batch, facts: due.flatMap(({ facts }) => facts) }];
  for (const { batch, facts } of parts) {
    if (facts.length > 0) await projection.apply(tx, schema, facts, batch.partition);
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
