import { setTimeout as sleep } from 'node:timers/promises';
import {
  checkPosition,
  type Batch,
  type EventLog,
  type LogRecord,
} from '../../ops/platform/event-log/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import type { BatchHandler, BatchOutcome } from './batch.js';
import { BatchNotAtCheckpoint, readCheckpoint } from './checkpoints.js';
import type { ProjectionSchema } from './names.js';
import { isTransient } from './poison.js';

/** A partition, and the offset up to which it is to be applied. */
export interface Target {
  readonly topic: TopicName;
  readonly partition: number;
  readonly to: number;
}

export interface CatchUpOptions {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly schema: ProjectionSchema;
  readonly handle: BatchHandler;
  /** Records in a batch at most. */
  readonly batchSize: number;
  /** Partitions at once: while PostgreSQL works on one's batch, another's is parsed. */
  readonly concurrency: number;
  readonly onBatch: (outcome: BatchOutcome) => void;
  /** Ends it after the batches in hand. */
  readonly signal?: AbortSignal | undefined;
}

const attempts = 8;
const firstPauseMs = 100;

/** Joins the log's pieces to batches of a size: each batch has a price of its own. */
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

/** Applies one partition from its checkpoint on; the same again after what may pass by itself. */
const catchUpPartition = async (
  options: CatchUpOptions,
  { topic, partition, to }: Target,
  isStopped: () => boolean,
): Promise<void> => {
  const { pool, log, schema, handle, batchSize, onBatch } = options;
  let failures = 0;
  while (!isStopped()) {
    try {
      const logId = log.logId(topic);
      const position = await readCheckpoint(pool, schema, topic, partition);
      const from = position?.offset ?? 0;
      if (from >= to && position?.logId === logId) return;
      const range = (await log.ranges(topic)).find((known) => known.partition === partition);
      if (!range) throw new RangeError(`${topic} has no partition ${partition}`);
      checkPosition(topic, range, logId, position ?? { logId, offset: 0 });
      if (to === 0) return;
      let batches = 0;
      for await (const batch of joined(log.read(topic, partition, from, to), batchSize)) {
        if (isStopped()) return;
        onBatch(await handle(batch));
        batches += 1;
        failures = 0;
      }
      if (batches === 0) throw new Error(`${topic}/${partition} holds nothing from ${from} on`);
    } catch (error) {
      failures += 1;
      const mayPass = error instanceof BatchNotAtCheckpoint || isTransient(error);
      if (!mayPass || failures === attempts) throw error;
      await sleep(firstPauseMs * 2 ** failures, null, { signal: options.signal });
    }
  }
};

/**
 * Applies what the targets' partitions hold, beginning at the schema's checkpoints.
 *
 * @throws ForeignPosition when the log does not hold what it is asked for from the start on
 * @throws the signal's reason
 */
export const catchUp = async (
  options: CatchUpOptions,
  targets: readonly Target[],
): Promise<void> => {
  const waiting = [...targets];
  let failed = false;
  const isStopped = (): boolean => failed || options.signal?.aborted === true;
  const work = async (): Promise<void> => {
    for (let target = waiting.shift(); target && !isStopped(); target = waiting.shift()) {
      try {
        await catchUpPartition(options, target, isStopped);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: options.concurrency }, work));
  options.signal?.throwIfAborted();
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure) throw failure.reason;
};
