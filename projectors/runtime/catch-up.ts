import { concurrently } from '../../ops/platform/concurrency/concurrently.js';
import { retry } from '../../ops/platform/concurrency/retry.js';
import {
  checkPosition,
  type Batch,
  type EventLog,
  type LogRecord,
} from '../../ops/event-log/port.js';
import { isRetryable } from '../../ops/platform/error-codes.js';
import { OutcomeUnknown, type Queryable } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import type { BatchOutcome, ReadLog } from './batch.js';
import { readCheckpoint } from './checkpoints.js';
import type { Projection, ProjectionSchema } from './projection.js';

/** A partition, and the offset up to which it is to be applied. */
export interface CatchUpTarget {
  readonly topic: TopicName;
  readonly partition: number;
  readonly to: number;
}

export interface CatchUpOptions {
  /** Reads the checkpoints. */
  readonly pool: Queryable;
  readonly log: ReadLog & Pick<EventLog, 'ranges' | 'read'>;
  readonly schema: ProjectionSchema;
  readonly handle: (batch: Batch) => Promise<BatchOutcome>;
  readonly onBatch: (outcome: BatchOutcome, records: number) => void;
  /** Moves a checkpoint to a target where the log holds nothing up to it; an error unless given. */
  readonly skipTo?: (target: CatchUpTarget) => Promise<void>;
  /** Ends the catch-up after the batches in hand. */
  readonly signal?: AbortSignal | undefined;
}

/** Most records in a batch. */
export const catchUpBatchSize = 5_000;
/** Partitions at once: while PostgreSQL works on a batch of one, a batch of another is parsed. */
const atOnce = 2;
/** Failures of a partition without a batch that was applied in between. */
const failuresAtMost = 8;
const pauses = { firstMs: 250, longestMs: 16_000 };

/** The present ends of the projection's partitions. */
export const endsOf = async (
  log: EventLog,
  projection: Projection,
): Promise<readonly CatchUpTarget[]> => {
  const ends = projection.topics.map(async (topic) =>
    (await log.ranges(topic)).map(({ partition, next }) => ({ topic, partition, to: next })),
  );
  return (await Promise.all(ends)).flat();
};

/** Joins pieces of the log to larger batches: each batch has a cost of its own. */
export async function* joined(pieces: AsyncIterable<Batch>, size: number): AsyncGenerator<Batch> {
  let records: LogRecord[] = [];
  let from: Batch | undefined;
  for await (const piece of pieces) {
    from = piece;
    records.push(...piece.records);
    if (records.length < size) continue;
    yield { ...piece, records };
    records = [];
  }
  if (from && records.length > 0) yield { ...from, records };
}

/** Applies one partition from its checkpoint on; starts there again after a failure that may pass. */
const catchUpPartition = async (
  { pool, log, schema, handle, onBatch, skipTo }: CatchUpOptions,
  target: CatchUpTarget,
  signal: AbortSignal,
): Promise<void> => {
  const { topic, partition, to } = target;
  let failures = 0;
  const applyAll = async (): Promise<void> => {
    for (;;) {
      const logId = log.logId(topic);
      const position = await readCheckpoint(pool, schema, topic, partition);
      const from = position?.offset ?? 0;
      if (from >= to && position?.logId === logId) return;
      const range = (await log.ranges(topic)).find((known) => known.partition === partition);
      if (!range) throw new RangeError(`${topic} has no partition ${partition}`);
      checkPosition(topic, range, logId, position ?? { logId, offset: 0 });
      if (to === 0) return;
      let batches = 0;
      for await (const batch of joined(log.read(topic, partition, from, to), catchUpBatchSize)) {
        signal.throwIfAborted();
        onBatch(await handle(batch), batch.records.length);
        batches += 1;
        failures = 0;
      }
      if (batches > 0) continue;
      if (!skipTo) throw new Error(`${topic}/${partition} holds nothing from ${from} on`);
      await skipTo(target);
    }
  };
  await retry(applyAll, {
    signal,
    pauses,
    isRetryable(error) {
      failures += 1;
      // The checkpoint tells whether the batch was committed, so a retry after a lost COMMIT is safe.
      const isSafe = isRetryable(error) || error instanceof OutcomeUnknown;
      return isSafe && failures < failuresAtMost;
    },
  });
};

/**
 * Applies the targets' partitions, from the schema's checkpoints on. The first failure ends all.
 *
 * @throws ForeignPosition when the log lacks records that are due, or is another log
 * @throws the signal's reason
 */
export const catchUp = async (
  options: CatchUpOptions,
  targets: readonly CatchUpTarget[],
): Promise<void> => {
  const { signal } = options;
  await concurrently(targets, { atOnce, signal }, (target, ending) =>
    catchUpPartition(options, target, ending),
  );
};
