import { atNormalPriority } from '../../ops/platform/concurrency/thread-priority.js';
import { PositionMoved, type Delivery, type EventLog } from '../../ops/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { millisecondsOf } from '../../schemas/events/timestamp.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { createBatchHandler, createJointHandler, type Limit } from './batch.js';
import { checkpointOf, readCheckpoint, readCheckpoints } from './checkpoints.js';
import { liveSchema, type Projection, type ProjectionSchema } from './projection.js';
import { readRecord } from './read-record.js';

/** Where a projection is behind: visits of one link are folded together, and a batch's statements shared by more. */
const maxBatch = 100_000;

/** Keeps a live projection up to date with the log, until it is stopped. */
export const startProjection = (options: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly projection: Projection;
  /** Shared by the projections of the process. */
  readonly limit: Limit;
}) => {
  const { pool, log, projection } = options;
  const handle = createBatchHandler(options);
  const handleTogether = createJointHandler(options);
  const lag = new LagTracker();
  const atItsPace: typeof atNormalPriority = (work) =>
    projection.mayWaitMs === undefined ? atNormalPriority(work) : work();
  const subscription = log.subscribe({
    group: `projection-${projection.name}`,
    topics: projection.topics,
    maxBatch,
    ...(projection.mayWaitMs !== undefined && { mayWaitMs: projection.mayWaitMs }),
    position: (topic, partition) =>
      readCheckpoint(pool, liveSchema(projection.name), topic, partition),
    // There is a backlog, or one partition alone has something new.
    handle: async (batch) => {
      await lag.applying([batch], () => atNormalPriority(() => handle(batch)));
    },
    handleTogether: (batches) =>
      lag.applying(batches, () => atItsPace(() => handleTogether(batches))),
  });
  return {
    done: subscription.done,
    stop: () => subscription.stop(),
    /** The age of the oldest event that this process was given and has not applied yet. */
    secondsBehind: () => lag.secondsBehind(Date.now()),
  };
};

/** When a batch's first event happened; `null` if that record is broken: it becomes a dead letter. */
const timeOf = ({ topic, records }: Delivery): number | null => {
  const first = records.at(0);
  const read = first && readRecord(topic, first);
  return read && 'event' in read ? millisecondsOf(read.event.time) : null;
};

/**
 * The batches that this process was given for a projection and has not applied yet. Records behind
 * them in the log are younger, so they tell how long the projection is behind: without a query, and
 * also while PostgreSQL is away.
 */
export class LagTracker {
  readonly #times = new Map<string, number>();

  /** Applies batches, and remembers their times until they are applied. */
  async applying<Result>(
    batches: readonly Delivery[],
    apply: () => Promise<Result>,
  ): Promise<Result> {
    const keyOf = ({ topic, partition }: Delivery): string => `${topic}/${partition}`;
    const forget = (): void => {
      for (const batch of batches) this.#times.delete(keyOf(batch));
    };
    forget();
    for (const batch of batches) {
      const time = timeOf(batch);
      if (time !== null) this.#times.set(keyOf(batch), time);
    }
    try {
      const result = await apply();
      forget();
      return result;
    } catch (error) {
      // Another reader has the partition.
      if (error instanceof PositionMoved) forget();
      throw error;
    }
  }

  /** The age of the oldest event that is not applied, in seconds; 0 when all are. */
  secondsBehind(now: number): number {
    const oldest = Math.min(now, ...this.#times.values());
    return (now - oldest) / 1_000;
  }
}

/** A reader's lag, from its checkpoints. */
export interface ReaderLag {
  /** Records of its topics that it has not handled yet. */
  readonly lag: number;
  /** Records that could not be read or applied. */
  readonly deadLetters: number;
  /** Events that wait behind a dead letter of their subject. */
  readonly parked: number;
}

/** How far the reader that keeps its checkpoints in `schema` is behind the log. */
export const readerLag = async (
  pool: Pool,
  log: EventLog,
  schema: ProjectionSchema,
  topics: readonly TopicName[],
): Promise<ReaderLag> => {
  // Read before the log's ends, so that no end is behind its checkpoint.
  const checkpoints = await readCheckpoints(pool, schema);
  const letters = await pool.query<{ deadLetters: number; parked: number }>(
    `SELECT count(error) AS "deadLetters", count(*) - count(error) AS parked
     FROM ${schema}.dead_letters`,
  );
  let lag = 0;
  for (const topic of topics) {
    for (const range of await log.ranges(topic)) {
      const known = checkpointOf(checkpoints, topic, range.partition);
      lag += range.next - (known?.logId === log.logId(topic) ? known.offset : range.first);
    }
  }
  const { deadLetters, parked } = letters.rows[0] ?? { deadLetters: 0, parked: 0 };
  return { lag, deadLetters, parked };
};
