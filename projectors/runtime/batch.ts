import type { Delivery, EventLog } from '../../ops/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { endAfter, maxLinks, type Span, type Tracer } from '../../ops/platform/tracing.js';
import {
  planByKey,
  transaction,
  type Client,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import { moveCheckpoint, readCheckpoint, requireAtCheckpoint, shareSchema } from './checkpoints.js';
import {
  applyOrSetAside,
  attempt,
  highestOf,
  insertDeadLetters,
  offsetsOf,
  type DeadLetter,
} from './dead-letters.js';
import { Deduplicator } from './deduplicator.js';
import { insertGaps, marksIn, type HighWaterMarks, type SequenceGap } from './high-water-marks.js';
import { LagTracker } from './lag.js';
import { liveSchema, type Projection, type ProjectionSchema } from './projection.js';
import { UnknownEventType } from '../../schemas/events/codec.js';
import { spoolIdOf } from '../../schemas/events/envelope.js';
import { topics } from '../../schemas/events/topics.js';
import { isUnknown, readRecord } from './read-record.js';

export interface BatchOutcome {
  readonly applied: number;
  readonly repeats: number;
  /** Records that cannot be read or applied. */
  readonly deadLetters: number;
  /** Events after a dead letter of their subject. */
  readonly parked: number;
}

type BatchHandler = (batch: Delivery) => Promise<BatchOutcome>;

export type ReadLog = Pick<EventLog, 'logId' | 'mayRepeatLedger'>;

interface BatchTarget {
  readonly projection: Projection;
  /** The live schema by default. */
  readonly schema?: ProjectionSchema;
  readonly log: ReadLog;
}

/** Records of a partition that are in memory as parsed events at the same time. */
const chunkSize = 1_000;

/**
 * Reads a batch in chunks. Returns its changes, and whether one of its records must be set aside: a broken one, or one
 * after a dead letter of its subject.
 *
 * @throws UnknownEventType
 */
const readChanges = async (
  reader: Deduplicator,
  projection: Projection,
  { topic, partition, records }: Delivery,
): Promise<{
  readonly changes: readonly unknown[];
  readonly fresh: number;
  readonly hasDeadLetters: boolean;
}> => {
  const changes: unknown[] = [];
  let fresh = 0;
  let hasDeadLetters = false;
  for (let from = 0; from < records.length; from += chunkSize) {
    const incoming = await reader.read(records.slice(from, from + chunkSize));
    fresh += incoming.length;
    for (const record of incoming) {
      if (!('event' in record) || reader.blocked.has(record.subject)) {
        hasDeadLetters = true;
        continue;
      }
      const change = projection.toChange(record.event, {
        ...{ topic, partition, offset: record.record.offset },
      });
      if (change !== null) changes.push(change);
    }
  }
  return { changes, fresh, hasDeadLetters };
};

export const saveProgress = async (
  tx: Client,
  schema: ProjectionSchema,
  batch: Delivery,
  marks: HighWaterMarks,
  log: Pick<EventLog, 'logId'>,
): Promise<void> => {
  await Promise.all([
    marksIn(tx, schema, batch).write(marks),
    moveCheckpoint(tx, schema, batch, log.logId(batch.topic)),
  ]);
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

  const { topic, partition } = batch;
  const createReader = () => new Deduplicator(tx, schema, log, batch, projection.sequences);
  const reader = createReader();
  const { changes, fresh, hasDeadLetters } = await readChanges(reader, projection, batch);
  let deadLetters: readonly DeadLetter[] = [];
  if (hasDeadLetters || (await attempt(tx, projection, schema, partition, changes)) !== null) {
    const whole = createReader();
    const incoming = await whole.read(batch.records.slice());
    deadLetters = await applyOrSetAside(tx, projection, schema, batch, incoming, whole.blocked);
  }
  // If the projection's rows have the sequences, only those of dead letters are stored.
  const hasSequences = log.mayRepeatLedger && projection.sequences?.[topic] !== undefined;
  const marks = hasSequences ? highestOf(deadLetters) : reader.raised;
  const gaps = projection.checksSequencesOf?.includes(topic) === true ? reader.gaps : [];
  await Promise.all([
    insertDeadLetters(tx, schema, batch, deadLetters),
    saveProgress(tx, schema, batch, marks, log),
    insertGaps(tx, schema, gaps),
  ]);

  const parked = deadLetters.filter(({ error }) => error === null).length;
  return {
    deadLetters,
    gaps,
    outcome: {
      applied: fresh - deadLetters.length,
      repeats: batch.records.length - fresh,
      deadLetters: deadLetters.length - parked,
      parked,
    },
  };
};

/** Records of a batch that are searched for traces. */
const maxSearched = 100;

/** The requests of a batch's first events. Visits have none. */
const requestsOf = ({ topic, records }: Delivery): readonly string[] => {
  if (topic === topics.visits.name) return [];
  const found = new Set<string>();
  for (const record of records.slice(0, maxSearched)) {
    const incoming = readRecord(topic, record);
    if ('event' in incoming && incoming.event.traceparent !== undefined) {
      found.add(incoming.event.traceparent);
    }
    if (found.size === maxLinks) break;
  }
  return [...found];
};

/** Starts the span of a batch. It continues the trace of a batch of one request, and links to those of several. */
const startBatchSpan = (tracer: Tracer, projection: string, batch: Delivery): Span => {
  const { topic, partition, records } = batch;
  const requests = requestsOf(batch);
  const [first = null, ...others] = requests;
  return tracer.start({
    name: `process ${topic}`,
    kind: 'consumer',
    parent: others.length === 0 ? first : null,
    links: requests,
    attributes: {
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(partition),
      'messaging.batch.message_count': records.length,
      'messaging.consumer.group.name': `projection-${projection}`,
    },
  });
};

/** Returns a handler that applies each batch in its own transaction, effectively once. */
export const createBatchHandler = (
  options: BatchTarget & { readonly pool: Pool; readonly logger: Logger },
): BatchHandler => {
  const { pool, logger, projection, schema = liveSchema(projection.name) } = options;
  const handle: BatchHandler = async (batch) => {
    const spans = pool.tracer ? [startBatchSpan(pool.tracer, projection.name, batch)] : [];
    const { outcome, deadLetters, gaps } = await endAfter(spans, () =>
      transaction(pool, (tx) => applyBatch(tx, options, batch)),
    );
    // The live projection has already reported the gaps that a rebuild finds.
    if (schema === liveSchema(projection.name)) {
      for (const { subject, topic, partition, first, last } of gaps) {
        const isSpool = spoolIdOf(subject) !== null;
        const origin = isSpool ? { source: subject } : { subject };
        const range = { sequence: first, missing: last - first + 1 };
        logger.error(
          { projection: projection.name, topic, partition, ...origin, ...range },
          isSpool
            ? 'visits of a spool are missing from the log'
            : 'events of a subject are missing from the log',
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

/** A large batch of a backlog folds more visits of the same link with the same number of statements. */
const maxBatch = 100_000;

/** Applies the log to the live tables of a projection, until it is stopped. */
export const startProjection = (options: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly projection: Projection;
}) => {
  const { pool, log, projection } = options;
  const handle = createBatchHandler(options);
  const lag = new LagTracker();
  const subscription = log.subscribe({
    group: `projection-${projection.name}`,
    topics: projection.topics,
    maxBatch,
    ...(projection.mayWaitMs !== undefined && { mayWaitMs: projection.mayWaitMs }),
    position: (topic, partition) =>
      readCheckpoint(pool, liveSchema(projection.name), topic, partition),
    handle: async (batch) => {
      await lag.applying(batch, () => handle(batch));
    },
  });
  return {
    done: subscription.done,
    stop: () => subscription.stop(),
    secondsBehind: () => lag.secondsBehind(Date.now()),
  };
};
