import { concurrently } from '../../ops/platform/concurrency/deferred.js';
import { retry } from '../../ops/platform/concurrency/retry.js';
import {
  checkPosition,
  type Batch,
  type EventLog,
  type LogRecord,
  type TopicPartition,
} from '../../ops/event-log/port.js';
import { isRetryable } from '../../ops/platform/error-codes.js';
import { OutcomeUnknown, type Queryable } from '../../ops/platform/postgres/pool.js';
import type { BatchOutcome, ReadLog } from './batch.js';
import { readCheckpoint } from './checkpoints.js';
import type { Projection, ProjectionSchema } from './projection.js';
import type { TopicName } from '../../schemas/events/topics.js';

/** A partition with the offset up to which it must be applied. */
export interface CatchUpTarget extends TopicPartition {
  readonly to: number;
}

/** Applies batches to the tables of one schema. */
interface CatchUpReader {
  readonly projection: Pick<Projection, 'topics'>;
  readonly schema: ProjectionSchema;
  readonly handle: (batch: Batch) => Promise<BatchOutcome>;
}

interface CatchUpOptions {
  /** Readers of a topic share its batches, each with a connection. */
  readonly readers: readonly CatchUpReader[];
  readonly pool: Queryable;
  readonly log: ReadLog & Pick<EventLog, 'ranges' | 'read'>;
  readonly onBatch: (outcome: BatchOutcome, records: number) => void;
  /** Ends the catch-up after the current batches. */
  readonly signal?: AbortSignal | undefined;
}

export const catchUpBatchSize = 5_000;
/** Two partitions, so that one batch is parsed while PostgreSQL applies another. */
const concurrency = 2;
/** Consecutive failures of a partition. */
const maxFailures = 8;
const pauses = { firstMs: 250, longestMs: 16_000 };

/** Returns the current ends of the topics' partitions. */
export const endsOf = async (
  log: EventLog,
  topics: readonly TopicName[],
): Promise<readonly CatchUpTarget[]> => {
  const ends = topics.map(async (topic) =>
    (await log.ranges(topic)).map(({ partition, next }) => ({ topic, partition, to: next })),
  );
  return (await Promise.all(ends)).flat();
};

/** Joins batches to batches of at least `size` records, which saves the overhead of a batch. */
export async function* joined(batches: AsyncIterable<Batch>, size: number): AsyncGenerator<Batch> {
  let records: LogRecord[] = [];
  let last: Batch | undefined;
  for await (const batch of batches) {
    last = batch;
    records.push(...batch.records);
    if (records.length < size) continue;
    yield { ...batch, records };
    records = [];
  }
  if (last && records.length > 0) yield { ...last, records };
}

/** Applies one partition from the checkpoints on, and resumes there after a transient failure. */
const catchUpPartition = async (
  { pool, log, readers, onBatch }: CatchUpOptions,
  target: CatchUpTarget,
  signal: AbortSignal,
): Promise<void> => {
  const { topic, partition, to } = target;
  let failures = 0;
  const applyAll = async (): Promise<void> => {
    for (;;) {
      const logId = log.logId(topic);
      const range = (await log.ranges(topic)).find((known) => known.partition === partition);
      if (!range) throw new RangeError(`${topic} has no partition ${partition}`);
      const due = [];
      for (const { projection, schema, handle } of readers) {
        if (!projection.topics.includes(topic)) continue;
        const position = await readCheckpoint(pool, schema, topic, partition);
        const { logId: known, offset } = position ?? { logId, offset: 0 };
        if (offset >= to && known === logId) continue;
        checkPosition(topic, range, logId, position ?? { logId, offset: 0 });
        due.push({ offset, handle });
      }
      if (to === 0 || due.length === 0) return;
      const from = Math.min(...due.map(({ offset }) => offset));
      let batches = 0;
      for await (const batch of joined(log.read(topic, partition, from, to), catchUpBatchSize)) {
        signal.throwIfAborted();
        await concurrently(due, { concurrency: due.length, signal }, async ({ offset, handle }) => {
          const records = batch.records.filter((record) => record.offset >= offset);
          if (records.length > 0) onBatch(await handle({ ...batch, records }), records.length);
        });
        batches += 1;
        failures = 0;
      }
      if (batches === 0) throw new Error(`${topic}/${partition} has no record from ${from} on`);
    }
  };
  await retry(applyAll, {
    signal,
    pauses,
    isRetryable(error) {
      failures += 1;
      // The checkpoint shows whether the batch was committed, so a retry after a lost COMMIT is safe.
      const isSafe = isRetryable(error) || error instanceof OutcomeUnknown;
      return isSafe && failures < maxFailures;
    },
  });
};

/**
 * Applies the targets' partitions from the readers' checkpoints on. The first permanent failure ends all of them.
 *
 * @throws ForeignPosition if the log lacks records after a checkpoint, or is another log
 * @throws the signal's reason
 */
export const catchUp = async (
  options: CatchUpOptions,
  targets: readonly CatchUpTarget[],
): Promise<void> => {
  const { signal } = options;
  await concurrently(targets, { concurrency, signal }, (target, ending) =>
    catchUpPartition(options, target, ending),
  );
};
