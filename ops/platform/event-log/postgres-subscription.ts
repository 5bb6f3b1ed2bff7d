import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicName } from '../../../schemas/events/topics.js';
import type { Logger } from '../logging.js';
import type { NotificationListener } from '../postgres/listener.js';
import type { Pool } from '../postgres/pool.js';
import {
  checkPosition,
  ForeignPosition,
  PositionMoved,
  type Batch,
  type LogRecord,
  type PartitionRange,
  type SubscribeOptions,
  type Subscription,
} from './port.js';

import type { KnownPartition } from './postgres-partitions.js';

/** How long a reader that heard of no append waits before it looks all the same. */
const idleMs = 500;
/**
 * The least time between the starts of two rounds that both handled something, unless the reader says
 * for how long its records may wait. What a reader finds that was idle it handles at once; under a steady
 * load a batch costs a dozen statements however few records are in it, which would be most of what one
 * machine does.
 */
const usualWaitMs = 400;
const firstPauseMs = 50;
const longestPauseMs = 5_000;

interface Context {
  readonly pool: Pool;
  readonly logger: Logger;
  readonly listener: NotificationListener;
  readonly logId: (topic: TopicName) => string;
  readonly ranges: (topic: TopicName) => Promise<readonly PartitionRange[]>;
  readonly partitionsOf: (topic: TopicName) => readonly KnownPartition[];
}

/** A partition that the subscription follows. */
interface Cursor {
  readonly partition: KnownPartition;
  /** The next offset to read; `null`: to be asked of the reader. */
  offset: number | null;
  pauseMs: number;
  /** A partition whose batch failed is left alone until then (`performance.now`). */
  pausedUntil: number;
}

/**
 * Follows the partitions in one loop: one query for all of them, then a batch at a time. The next
 * query waits for the last batch, so memory holds at most `maxBatch` records a partition.
 */
export const startSubscription = (options: SubscribeOptions, context: Context): Subscription => {
  const { pool, logger, listener } = context;
  const { maxBatch = 1_000, mayWaitMs = usualWaitMs } = options;
  const cursors: Cursor[] = options.topics
    .flatMap((topic) => context.partitionsOf(topic))
    .map((partition) => ({ partition, offset: null, pauseMs: firstPauseMs, pausedUntil: 0 }));
  const stopped = new AbortController();
  // Read through a function: the loop awaits, and the value changes meanwhile.
  const isStopped = (): boolean => stopped.signal.aborted;
  let appended = true;
  let wake = (): void => undefined;
  const lookAgain = (): void => {
    appended = true;
    wake();
  };
  const unsubscribe = [listener.on('linklog_log', lookAgain), listener.onGap(lookAgain)];

  const seek = async (cursor: Cursor): Promise<void> => {
    const { topic, partition } = cursor.partition;
    const position = await options.position(topic, partition);
    if (position) {
      const range = (await context.ranges(topic)).find((known) => known.partition === partition);
      if (!range) throw new RangeError(`${topic} has no partition ${partition}`);
      checkPosition(topic, range, context.logId(topic), position);
    }
    cursor.offset = position?.offset ?? 0;
  };

  /** What the partitions hold from the cursors on, by partition id. */
  const fetch = async (from: readonly Cursor[]): Promise<Map<number, LogRecord[]>> => {
    const { rows } = await pool.query<LogRecord & { id: number }>({
      name: 'log-fetch',
      text: `SELECT c.id, e.record_offset AS offset, e.key, e.value
             FROM unnest($1::smallint[], $2::bigint[]) AS c (id, from_offset)
             CROSS JOIN LATERAL (
               SELECT record_offset, key, value FROM log.events
               WHERE partition_id = c.id AND record_offset >= c.from_offset
               ORDER BY record_offset LIMIT $3
             ) e`,
      values: [
        from.map(({ partition }) => partition.id),
        from.map(({ offset }) => offset),
        maxBatch,
      ],
    });
    const found = new Map<number, LogRecord[]>();
    for (const { id, ...record } of rows) {
      const records = found.get(id);
      if (records) records.push(record);
      else found.set(id, [record]);
    }
    return found;
  };

  const pause = (cursor: Cursor, err: unknown): void => {
    const { topic, partition } = cursor.partition;
    const details = { err, group: options.group, topic, partition };
    if (err instanceof PositionMoved) logger.debug(details, 'the checkpoint was moved');
    else logger.warn(details, 'a batch failed; trying again');
    cursor.offset = null;
    cursor.pausedUntil = performance.now() + cursor.pauseMs;
    cursor.pauseMs = Math.min(cursor.pauseMs * 2, longestPauseMs);
  };

  /** Whether it could be handled; otherwise its partition pauses. */
  const handle = async (cursor: Cursor, records: readonly LogRecord[]): Promise<boolean> => {
    const { topic, partition } = cursor.partition;
    const batch: Batch = { topic, partition, records };
    try {
      await options.handle(batch);
      cursor.offset = (records.at(-1)?.offset ?? 0) + 1;
      cursor.pauseMs = firstPauseMs;
      return true;
    } catch (error) {
      pause(cursor, error);
      return false;
    }
  };

  /** One round over all partitions: what it handled, `full` where there may be more at once. */
  const round = async (): Promise<'nothing' | 'some' | 'full'> => {
    const ready = cursors.filter((cursor) => cursor.pausedUntil <= performance.now());
    for (const cursor of ready) {
      if (cursor.offset === null) await seek(cursor);
    }
    const found = await fetch(ready);
    let handled = false;
    for (const cursor of ready) {
      const records = found.get(cursor.partition.id);
      if (records && !isStopped()) handled = (await handle(cursor, records)) || handled;
    }
    if ([...found.values()].some(({ length }) => length === maxBatch)) return 'full';
    return handled ? 'some' : 'nothing';
  };

  const idle = async (): Promise<void> => {
    // A pause may have ended during the round, which then left its partition out.
    const paused = cursors
      .filter(({ offset }) => offset === null)
      .map(({ pausedUntil }) => Math.max(0, pausedUntil - performance.now()));
    const soonest = Math.min(idleMs, ...paused);
    await new Promise<void>((resolve) => {
      // A timer counts whole milliseconds, and would end before the pause does.
      const timer = setTimeout(resolve, Math.ceil(soonest));
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (appended || isStopped()) wake();
    });
  };

  const pauseUnlessStopped = async (ms: number): Promise<void> => {
    // Cut short when it is stopped; that is its only failure, and the loop sees it by itself.
    await sleep(ms, undefined, { signal: stopped.signal }).catch(() => undefined);
  };

  const run = async (): Promise<void> => {
    let pauseMs = firstPauseMs;
    while (!isStopped()) {
      appended = false;
      try {
        const began = performance.now();
        const found = await round();
        pauseMs = firstPauseMs;
        if (found === 'some') await pauseUnlessStopped(began + mayWaitMs - performance.now());
        if (found !== 'full') await idle();
      } catch (error) {
        if (error instanceof ForeignPosition) throw error;
        // PostgreSQL is away: nothing was handled, so nothing is lost by waiting.
        logger.warn({ err: error, group: options.group }, 'the log cannot be read; trying again');
        await pauseUnlessStopped(pauseMs);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
  };

  const done = run().finally(() => {
    for (const stop of unsubscribe) stop();
  });
  // Whoever awaits `done` hears of it; nobody has to.
  done.catch((error: unknown) => {
    logger.error({ err: error, group: options.group }, 'the subscription ended');
  });

  return {
    done,
    async stop() {
      stopped.abort();
      wake();
      await done.catch((error: unknown) => {
        logger.debug({ err: error }, 'the subscription had ended before it was stopped');
      });
    },
  };
};
