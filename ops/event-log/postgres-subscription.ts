import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicName } from '../../schemas/events/topics.js';
import { Backoff } from '../platform/concurrency/retry.js';
import { WakeUp } from '../platform/concurrency/wake-up.js';
import type { Logger } from '../platform/logging.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Pool } from '../platform/postgres/pool.js';
import { PartitionCursor, pauses, startFollowing } from './following.js';
import {
  ForeignPosition,
  type EventLog,
  type SubscribeOptions,
  type Subscription,
} from './port.js';
import { readRows, unpackLater, type DueRecords } from './postgres-batches.js';
import type { KnownPartition } from './postgres-partitions.js';
import type { FoundRecords, RecentRecords } from './recent-records.js';

/** How long a reader that heard of no append waits before it looks all the same. */
const idleMs = 500;
/**
 * The least time between the starts of two rounds that both handled something, unless the reader says
 * for how long its records may wait. What a reader finds that was idle it handles at once; under a steady
 * load a batch costs a dozen statements however few records are in it, which would be most of what one
 * machine does.
 */
const usualWaitMs = 300;

/** Records of a partition in a batch, unless the reader takes more: it gets those of a partition that has a backlog. */
const usualBatch = 1_000;

interface Context extends Pick<EventLog, 'logId' | 'ranges'> {
  readonly pool: Pool;
  readonly logger: Logger;
  readonly listener: NotificationListener;
  readonly partitionsOf: (topic: TopicName) => readonly KnownPartition[];
  /** Shared with the other readers of the process. */
  readonly recent: RecentRecords;
}

/** A cursor of a partition by its id in the table. */
class TableCursor extends PartitionCursor {
  /** No batch is tried before this time (`performance.now`). */
  pausedUntil = 0;
  /** The last look found a batch that was full: there may be many more records. */
  isBehind = false;

  constructor(readonly known: KnownPartition) {
    super(known.topic, known.partition);
  }
}

/**
 * Follows the partitions in one loop: one query for all of them, then their batches, in one go where the reader can take
 * them so. The next query waits for the last batch, so memory holds at most 1,000 records a partition, and the rest of the first and
 * the last row. Where the reader takes larger batches, each partition that has a backlog is read by a query of its own,
 * so memory holds one such batch more.
 */
export const startPostgresSubscription = (
  options: SubscribeOptions,
  context: Context,
): Subscription => {
  const { pool, logger, listener, recent } = context;
  const { group, maxBatch = usualBatch, mayWaitMs = usualWaitMs } = options;
  const sharedBatch = Math.min(maxBatch, usualBatch);
  const cursors = options.topics
    .flatMap((topic) => context.partitionsOf(topic))
    .map((known) => new TableCursor(known));

  const locate = async (cursor: TableCursor): Promise<void> => {
    const { topic, partition, known } = cursor;
    // Whoever begins, or was set back, sees what the table has now: it may have been altered.
    recent.forget(known.id);
    const position = await options.position(topic, partition);
    cursor.moveTo(position, await context.ranges(topic), context.logId(topic));
  };

  const rangesOf = (some: readonly TableCursor[], length: number) =>
    some.flatMap(({ known, offset }) =>
      offset === null ? [] : [{ partitionId: known.id, from: offset, to: offset + length }],
    );

  /** Up to so many records of a partition that has a backlog: too many to keep them for other readers. */
  const findBacklog = async (cursor: TableCursor): Promise<DueRecords | undefined> => {
    const [range] = rangesOf([cursor], maxBatch);
    if (!range) return undefined;
    const rows = await readRows(pool, [range]);
    const ofPartition = rows.get(cursor.known.id);
    // The rest of the last row would be a batch of its own.
    return ofPartition && unpackLater(ofPartition, range.from, range.to);
  };

  /** Whether the records were handled; otherwise their partition pauses. */
  const handle = async (
    cursor: TableCursor,
    { records, damaged }: DueRecords,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const { topic, partition } = cursor;
    try {
      for (let from = 0; from < records.length && !signal.aborted; from += maxBatch) {
        // A slice unpacks its records.
        const batch = records.length <= maxBatch ? records : records.slice(from, from + maxBatch);
        await options.handle({ topic, partition, records: batch });
        cursor.advance(batch);
      }
      if (damaged) throw damaged;
      return true;
    } catch (error) {
      cursor.fail(error, group, logger);
      cursor.pausedUntil = performance.now() + cursor.backoff.next();
      return false;
    }
  };

  /** The cursors whose records were handled in one go. */
  const handleTogether = async (
    some: readonly TableCursor[],
    found: ReadonlyMap<number, FoundRecords>,
  ): Promise<ReadonlySet<TableCursor>> => {
    const none = new Set<TableCursor>();
    if (!options.handleTogether || found.size < 2) return none;
    const due = some.flatMap((cursor) => {
      const { topic, partition, known } = cursor;
      const ofPartition = found.get(known.id);
      return ofPartition ? [{ cursor, topic, partition, ...ofPartition }] : [];
    });
    if (due.some(({ records, damaged }) => damaged !== null || records.length > maxBatch))
      return none;
    try {
      await options.handleTogether(due);
    } catch (err) {
      logger.debug({ err, group }, 'batches of several partitions are handled one by one');
      return none;
    }
    for (const { cursor, records } of due) cursor.advance(records);
    return new Set(due.map(({ cursor }) => cursor));
  };

  /** One round over all partitions; `full` where there may be more records at once. */
  const handleNew = async (signal: AbortSignal): Promise<'nothing' | 'some' | 'full'> => {
    const ready = cursors.filter((cursor) => cursor.pausedUntil <= performance.now());
    for (const cursor of ready) {
      if (cursor.offset === null) await locate(cursor);
    }
    const shared = ready.filter(({ isBehind }) => !isBehind);
    const found = await recent.read(rangesOf(shared, sharedBatch));
    const handled = await handleTogether(shared, found);
    let result: 'nothing' | 'some' | 'full' = 'nothing';
    for (const cursor of ready) {
      if (signal.aborted) break;
      const due = cursor.isBehind ? await findBacklog(cursor) : found.get(cursor.known.id);
      cursor.isBehind = false;
      if (!due || !(handled.has(cursor) || (await handle(cursor, due, signal)))) continue;
      const isFull = due.records.length >= sharedBatch;
      cursor.isBehind = isFull && maxBatch > sharedBatch;
      if (result !== 'full') result = isFull ? 'full' : 'some';
    }
    return result;
  };

  /** Until the next look: sooner where the pause of a partition ends sooner. */
  const untilNextLookMs = (): number => {
    const paused = cursors
      .filter(({ offset }) => offset === null)
      .map(({ pausedUntil }) => Math.max(0, pausedUntil - performance.now()));
    // A timer counts whole milliseconds, and would end before the pause does.
    return Math.ceil(Math.min(idleMs, ...paused));
  };

  const follow = async ({ signal }: AbortController): Promise<never> => {
    const appended = new WakeUp();
    const wake = (): void => {
      appended.wake();
    };
    signal.addEventListener('abort', wake);
    /** A PostgreSQL that crashed may have lost the last checkpoints: COMMIT does not wait for the disk. */
    const startOver = (): void => {
      for (const cursor of cursors) cursor.offset = null;
      wake();
    };
    const hear = (topic: string): void => {
      if (options.topics.some((name) => name === topic)) wake();
    };
    const unsubscribe = [listener.on('linklog_log', hear), listener.onGap(startOver)];
    const backoff = new Backoff(pauses);
    try {
      for (;;) {
        signal.throwIfAborted();
        try {
          const startedAt = performance.now();
          const found = await handleNew(signal);
          backoff.reset();
          if (found === 'some') {
            const waitMs = startedAt + mayWaitMs - performance.now();
            await sleep(Math.max(0, waitMs), undefined, { signal });
          }
          // After some there may be more that nobody was told of.
          if (found === 'nothing') await appended.sleep(untilNextLookMs());
        } catch (error) {
          if (error instanceof ForeignPosition) throw error;
          signal.throwIfAborted();
          // PostgreSQL is away: no record was handled, so none is lost by waiting.
          logger.warn({ err: error, group }, 'the log cannot be read; trying again');
          await backoff.pause(signal);
        }
      }
    } finally {
      for (const stop of unsubscribe) stop();
    }
  };

  return startFollowing(group, logger, follow);
};
