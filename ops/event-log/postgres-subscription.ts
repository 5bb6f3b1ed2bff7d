import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicName } from '../../schemas/events/topics.js';
import { Backoff } from '../platform/concurrency/retry.js';
import { WakeUp } from '../platform/concurrency/deferred.js';
import type { Logger, OutageLog } from '../platform/logging.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Pool } from '../platform/postgres/pool.js';
import { outageOf, PartitionCursor, pauses, startFollowing } from './following.js';
import {
  ForeignPosition,
  type EventLog,
  type SubscribeOptions,
  type Subscription,
} from './port.js';
import { readRows, unpackLater, type DueRecords } from './postgres-batches.js';
import type { KnownPartition } from './postgres-partitions.js';
import type { RecentRows } from './recent-rows.js';

/**
 * Interval of polls without a notification (ms). An append is not announced if another one was announced shortly before;
 * if its commit then takes long, only a poll finds it. So polls are frequent until such appends have timed out, after 15 s.
 */
const idleMs = { afterRecords: 500, later: 5_000 };
const afterRecordsMs = 20_000;
/**
 * Pause after a round with records (ms), because a batch takes a dozen statements regardless of its size. While the core is
 * busy, rounds take longer, and so have larger batches. An idle reader handles new records immediately.
 */
const usualWaitMs = 300;

/** Records of a batch without a backlog. */
const usualBatch = 1_000;

interface Context extends Pick<EventLog, 'logId' | 'ranges'> {
  readonly pool: Pool;
  readonly logger: Logger;
  readonly listener: NotificationListener;
  readonly recent: RecentRows;
  readonly partitionsOf: (topic: TopicName) => readonly KnownPartition[];
}

class TableCursor extends PartitionCursor {
  /** The end of the pause, by `performance.now()`. */
  pausedUntil = 0;
  /** Whether the last batch was full, so that there may be a backlog. */
  isBehind = false;

  constructor(
    readonly known: KnownPartition,
    outage: OutageLog,
  ) {
    super(known.topic, known.partition, outage);
  }
}

/**
 * Follows the partitions in one loop: one query for all of them, then their batches. So at most 1,000 records of each
 * partition are in memory, besides the rest of the first and last rows. For larger batches, a query reads the backlog of
 * one partition.
 */
export const startPostgresSubscription = (
  options: SubscribeOptions,
  context: Context,
): Subscription => {
  const { pool, logger, listener, recent } = context;
  const { group, maxBatch = usualBatch, mayWaitMs = usualWaitMs } = options;
  const sharedBatch = Math.min(maxBatch, usualBatch);
  const outage = outageOf(options, logger);
  const cursors = options.topics
    .flatMap((topic) => context.partitionsOf(topic))
    .map((known) => new TableCursor(known, outage));
  /** Whether checkpoints may have moved since the current round began, which may have read them before. */
  let mayHaveMoved = false;
  // A function, because the value changes during an await.
  const isOutdated = (): boolean => mayHaveMoved;

  const locate = async (cursor: TableCursor): Promise<void> => {
    const { topic, partition } = cursor;
    const position = await options.position(topic, partition);
    cursor.moveTo(position, await context.ranges(topic), context.logId(topic));
  };

  /** Reads up to `length` records of each partition. Returns them by partition id. */
  const read = async (
    located: readonly TableCursor[],
    length: number,
    isDirect = options.isUnshared,
  ): Promise<ReadonlyMap<number, DueRecords>> => {
    const ranges = located.flatMap(({ known, offset }) =>
      offset === null ? [] : [{ partitionId: known.id, from: offset, to: offset + length }],
    );
    if (ranges.length === 0) return new Map();
    const rows = await (isDirect ? readRows(pool, ranges) : recent.read(ranges));
    return new Map(
      ranges.flatMap(({ partitionId, from, to }) => {
        const found = rows.get(partitionId);
        return found ? [[partitionId, unpackLater(found, from, to)]] : [];
      }),
    );
  };

  /** Handles records. Returns `false` after a failure, which pauses the partition. */
  const handle = async (
    cursor: TableCursor,
    { records, damaged }: DueRecords,
  ): Promise<boolean> => {
    const { topic, partition } = cursor;
    try {
      if (records.length > 0) {
        await options.handle({ topic, partition, records });
        cursor.advance(records);
      }
      if (damaged) throw damaged;
      return true;
    } catch (error) {
      cursor.fail(error);
      cursor.pausedUntil = performance.now() + cursor.backoff.next();
      return false;
    }
  };

  /** Handles one round over all partitions. Returns `full` if a partition may have a backlog. */
  const handleNew = async (signal: AbortSignal): Promise<'nothing' | 'some' | 'full'> => {
    if (mayHaveMoved) for (const cursor of cursors) cursor.offset = null;
    mayHaveMoved = false;
    const ready = cursors.filter((cursor) => cursor.pausedUntil <= performance.now());
    for (const cursor of ready) {
      if (cursor.offset === null) await locate(cursor);
    }
    const shared = ready.filter(({ isBehind }) => !isBehind);
    const found = await read(shared, sharedBatch);
    let result: 'nothing' | 'some' | 'full' = 'nothing';
    for (const cursor of ready) {
      if (signal.aborted || isOutdated()) break;
      const due = (cursor.isBehind ? await read([cursor], maxBatch, true) : found).get(
        cursor.known.id,
      );
      cursor.isBehind = false;
      if (!due) cursor.recover();
      if (!due || !(await handle(cursor, due))) continue;
      const isFull = due.records.length >= sharedBatch;
      cursor.isBehind = isFull && maxBatch > sharedBatch;
      if (result !== 'full') result = isFull ? 'full' : 'some';
    }
    return result;
  };

  /** Returns the time until the next poll, or the end of a partition's pause. */
  const untilNextPollMs = (pauseMs: number): number => {
    const paused = cursors
      .filter(({ offset }) => offset === null)
      .map(({ pausedUntil }) => Math.max(0, pausedUntil - performance.now()));
    // A timer truncates to milliseconds, and would fire before the end of the pause.
    return Math.ceil(Math.min(pauseMs, ...paused));
  };

  const follow = async ({ signal }: AbortController): Promise<never> => {
    const appended = new WakeUp();
    const wake = (): void => {
      appended.wake();
    };
    signal.addEventListener('abort', wake);
    /** PostgreSQL may have lost checkpoints in a crash, because their COMMIT is asynchronous. */
    const startOver = (): void => {
      mayHaveMoved = true;
      wake();
    };
    const onNotification = (hint: string): void => {
      if (hint === group) startOver();
      else if (options.topics.some((name) => name === hint)) wake();
    };
    const unsubscribe = [listener.on('linklog_log', onNotification), listener.onGap(startOver)];
    const backoff = new Backoff(pauses);
    let foundAt = performance.now();
    try {
      for (;;) {
        signal.throwIfAborted();
        try {
          const found = await handleNew(signal);
          backoff.reset();
          outage.recovered();
          if (found === 'some') await sleep(mayWaitMs, undefined, { signal });
          // After `some`, records may have been appended without a notification.
          if (found !== 'nothing') {
            foundAt = performance.now();
          } else {
            const isRecent = performance.now() - foundAt < afterRecordsMs;
            await appended.sleep(untilNextPollMs(isRecent ? idleMs.afterRecords : idleMs.later));
          }
        } catch (error) {
          if (error instanceof ForeignPosition) throw error;
          signal.throwIfAborted();
          outage.failed(error);
          await backoff.pause(signal);
        }
      }
    } finally {
      for (const stop of unsubscribe) stop();
    }
  };

  return startFollowing(group, logger, follow);
};
