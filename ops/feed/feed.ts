/**
 * The events of an account after a cursor, for pages, streams and webhooks.
 *
 * - portion: the next events of a filter and the cursor after them. A portion may be empty although more events follow,
 *   because the records that one portion reads are bounded.
 * - follower: a client that reads portion after portion. At the head of the log, it reads from memory.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { topicNames, topics } from '../../schemas/events/topics.js';
import { coalesce, WakeUp } from '../platform/concurrency/deferred.js';
import type { Logger } from '../platform/logging.js';
import type { Pool } from '../platform/postgres/pool.js';
import type { EventLog } from '../event-log/port.js';
import {
  decodeCursor,
  encodeCursor,
  feedPartitions,
  feedTopics,
  logIdentity,
  startCursor,
  type Cursor,
} from './cursor.js';
import { readLinkVisits } from './link-visits.js';
import {
  indexesOf,
  isVisitsIndex,
  selects,
  visitsIndex,
  type FeedEvent,
  type FeedFilter,
} from './filter.js';
import { openHeads, type Heads } from './head.js';
import { offsetOfTime } from './offset-of-time.js';
import {
  countHistory,
  historyOffsetsSince,
  readHistory,
  readVisits,
  requireHistory,
  type PartitionEvents,
  type PortionLimits,
} from './stored-events.js';

interface Portion {
  readonly events: readonly FeedEvent[];
  /** The cursor after the events. */
  readonly next: Cursor;
  /** Whether no events follow now. */
  readonly atEnd: boolean;
  /** Records of visits that were read in vain. */
  readonly skipped: number;
}

/** Why a text is no cursor of this log. */
export type CursorFault = 'malformed' | 'foreign';

/** Records of a partition that one portion reads in search of visits. */
const maxRecords = 10_000;

/** Portions of stored events that followers of a process read at the same time. */
const concurrentReads = 4;

/** Followers that are behind in the history pause together after each portion, for this multiple of the time of its read. */
const pauseFactor = 3;

/**
 * Events of a follower's portion that has rows of the history: they are parsed, merged and encoded in one step, which delays
 * redirects of the process. With fewer events, the fixed cost of a query is a large part of their cost.
 */
const maxHistoryEvents = 125;

/** How long such a portion is kept for other streams of its group (ms): slower ones catch up with the first one. */
const sharedMs = 1_000;

/** A follower's portion reads this multiple of its limits, because its partitions have different numbers of events. */
const surplus = 1.25;

/** How often a follower polls stored events that are not complete yet (ms). */
const pollMs = 200;

interface FollowedPortion extends Portion {
  /** Whether all of it was in memory. */
  readonly atHead: boolean;
}

/** Streams with the same filter get the same portions, each of which is read and encoded once, if their cursors are equal. */
interface Group {
  /** For partitions without events of the filter: where the first stream began. */
  readonly from: Cursor;
  streams: number;
  /** Portions by cursor. */
  readonly portions: Map<string, Promise<FollowedPortion>>;
}

/** Takes events of all partitions by time, without reordering a partition, up to the limits. */
const mergePartitions = (
  cursor: Cursor,
  partitions: readonly PartitionEvents[],
  limits: PortionLimits,
): Portion => {
  const taken = partitions.map(() => 0);
  const events: FeedEvent[] = [];
  let bytes = 0;
  let isFull = false;
  for (;;) {
    let earliest: { readonly event: FeedEvent; readonly at: number } | null = null;
    for (const [at, partition] of partitions.entries()) {
      const event = partition.events[taken[at] ?? 0];
      if (event && (!earliest || event.time < earliest.event.time)) earliest = { event, at };
    }
    if (!earliest) break;
    bytes += Buffer.byteLength(earliest.event.json);
    isFull = events.length >= limits.events || (events.length > 0 && bytes > limits.bytes);
    if (isFull) break;
    events.push(earliest.event);
    taken[earliest.at] = (taken[earliest.at] ?? 0) + 1;
  }
  const next = [...cursor];
  let skipped = 0;
  for (const [at, { index, events: found, scanned }] of partitions.entries()) {
    const left = found[taken[at] ?? 0];
    const last = found[(taken[at] ?? 0) - 1];
    const read = left ? (last ? last.offset + 1 : (cursor[index] ?? 0)) : scanned;
    if (isVisitsIndex(index)) skipped += read - (cursor[index] ?? 0);
    next[index] = read;
  }
  const atEnd = !isFull && partitions.every((partition) => partition.atEnd);
  const visits = events.filter(({ index }) => isVisitsIndex(index)).length;
  return { events, next, atEnd, skipped: skipped - visits };
};

export const openFeed = (deps: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
}) => {
  const { pool, log, logger } = deps;
  const heads: Heads = openHeads(log, logger);
  const limitReads = pLimit(concurrentReads);
  const limitCatchUp = pLimit(1);
  let pausedUntil = 0;
  /** Reads after the pause of the read before, in which followers send their events. */
  const catchUp = <Value>(read: () => Promise<Value>): Promise<Value> =>
    limitCatchUp(async () => {
      await sleep(Math.max(0, pausedUntil - performance.now()));
      const startedAt = performance.now();
      try {
        return await read();
      } finally {
        const endedAt = performance.now();
        pausedUntil = endedAt + (endedAt - startedAt) * pauseFactor;
      }
    });
  let knownIdentity: string | null = null;
  /** The IDs of a log never change, but Kafka's are unknown before it is reached. */
  const identity = (): string => {
    knownIdentity ??= logIdentity(topicNames.map((topic) => log.logId(topic)));
    return knownIdentity;
  };

  /** The ends of all partitions of the feed. */
  const ends = async (): Promise<Cursor> => {
    const ranges = await Promise.all(feedTopics.map(({ name }) => log.ranges(name)));
    return ranges.flat().map(({ next }) => next);
  };
  let knownEnds: Cursor = startCursor;
  /** Thousands of webhooks start together. */
  const sharedEnds = coalesce(ends);

  const isWithin = (cursor: Cursor, limit: Cursor): boolean =>
    cursor.every((offset, index) => offset <= (limit[index] ?? 0));

  /** Ends of partitions that are not before a cursor, if they exist. */
  const endsFrom = async (cursor: Cursor): Promise<Cursor> => {
    if (!isWithin(cursor, knownEnds)) knownEnds = await sharedEnds();
    return knownEnds;
  };

  /** Streams by filter. */
  const groups = new Map<string, Group>();

  /** Reads one partition after the other, because a query reads a thousand records: first what is the furthest behind. */
  const storedVisits = async (
    filter: FeedFilter,
    cursor: Cursor,
    indexes: readonly number[],
    limit: number,
  ): Promise<readonly PartitionEvents[]> => {
    if (indexes.length === 0) return [];
    const to = await log.ranges(topics.visits.name);
    const ranges = indexes
      .map((index) => ({
        ...{ index, from: cursor[index] ?? 0, end: to[index - visitsIndex]?.next ?? 0 },
      }))
      .sort((a, b) => a.from * b.end - b.from * a.end);
    const found: PartitionEvents[] = [];
    let left = limit;
    for (const range of ranges) {
      const { index, from, end } = range;
      const visits =
        left > 0 && from < end
          ? await readVisits(log, filter, range, left, maxRecords)
          : { index, events: [], scanned: from, atEnd: from >= end };
      left -= visits.events.length;
      found.push(visits);
    }
    return found;
  };

  const readStored = async (
    filter: FeedFilter,
    cursor: Cursor,
    indexes: readonly number[],
    limits: PortionLimits,
    isPage: boolean,
  ): Promise<readonly PartitionEvents[]> => {
    const visits = indexes.filter(isVisitsIndex);
    const others = indexes.filter((index) => !isVisitsIndex(index));
    // A page has its events by time, although all of them may be in one partition.
    const share = isPage ? 1 : surplus / others.length;
    const [history, found] = await Promise.all([
      readHistory(pool, filter, cursor, others, limits, share),
      storedVisits(filter, cursor, visits, limits.events),
    ]);
    return [...history, ...found];
  };

  /** Reads the next portion of stored events. @throws HistoryIncomplete */
  const read = async (
    filter: FeedFilter,
    cursor: Cursor,
    limits: PortionLimits,
  ): Promise<Portion> =>
    mergePartitions(
      cursor,
      await readStored(filter, cursor, indexesOf(filter), limits, true),
      limits,
    );

  return {
    ends,
    read,

    /** Checks that stored events can be read. @throws HistoryIncomplete */
    requireHistory: () => requireHistory(pool),

    encode: (cursor: Cursor): string => encodeCursor(identity(), cursor),

    /** Reads a cursor. A cursor beyond the end of the log is of another log. */
    async decode(text: string): Promise<Cursor | CursorFault> {
      const decoded = decodeCursor(text);
      if (!decoded) return 'malformed';
      const { cursor } = decoded;
      if (decoded.identity !== identity()) return 'foreign';
      return isWithin(cursor, await endsFrom(cursor)) ? cursor : 'foreign';
    },

    /** The number of events after a cursor; visits of other accounts count too. */
    async countAfter(filter: FeedFilter, cursor: Cursor): Promise<number> {
      const indexes = indexesOf(filter);
      const others = indexes.filter((index) => !isVisitsIndex(index));
      const [to, history] = await Promise.all([ends(), countHistory(pool, filter, cursor, others)]);
      return indexes
        .filter(isVisitsIndex)
        .reduce(
          (sum, index) => sum + Math.max(0, (to[index] ?? 0) - (cursor[index] ?? 0)),
          history,
        );
    },

    /** The cursor before an account's events since a time. */
    async cursorAt({ account }: FeedFilter, time: Date): Promise<Cursor> {
      const others = feedPartitions.flatMap((_, index) => (isVisitsIndex(index) ? [] : [index]));
      const [ranges, offsets] = await Promise.all([
        Promise.all(feedTopics.map(({ name }) => log.ranges(name))),
        historyOffsetsSince(pool, account, time, others),
      ]);
      return Promise.all(
        ranges.flat().map((range, index) => {
          const known = feedPartitions[index];
          return known && isVisitsIndex(index)
            ? offsetOfTime(log, known, range, time.getTime())
            : Promise.resolve(offsets.get(index) ?? 0);
        }),
      );
    },

    /** The visits of a link that were appended since about a time: see `readLinkVisits`. */
    visitsOf: (subject: string, since: number) => readLinkVisits(log, subject, since),

    /** Starts to follow the events after a cursor. `close` must be called. */
    follow(filter: FeedFilter, from: Cursor, limits: PortionLimits, isStream = false) {
      const indexes = indexesOf(filter);
      const name = JSON.stringify({ ...filter, types: [...filter.types] });
      const known = isStream ? groups.get(name) : undefined;
      const group: Group = known ?? { from, streams: 0, portions: new Map() };
      group.streams += 1;
      if (isStream) groups.set(name, group);
      const wakeUp = new WakeUp();
      const release = heads.join(filter.account, indexes, () => {
        wakeUp.wake();
      });
      let cursor: Cursor = from.map((offset, index) =>
        indexes.includes(index) ? offset : Math.min(offset, group.from[index] ?? 0),
      );
      let isClosed = false;
      let isBehind = false;

      const share = (key: string, portion: Promise<FollowedPortion>): (() => void) => {
        if (isStream) group.portions.set(key, portion);
        return () => group.portions.delete(key);
      };

      const readNext = async (): Promise<FollowedPortion> => {
        const start = cursor;
        const key = start.join();
        const shared = group.portions.get(key);
        if (shared) return shared;
        const buffered = indexes.map((index) =>
          heads.eventsFrom(filter.account, index, start[index] ?? 0),
        );
        const missing = indexes.filter((_, at) => buffered[at] === null);
        const atHead = missing.length === 0;
        const readsHistory = !missing.every(isVisitsIndex);
        const bounds = readsHistory
          ? { ...limits, events: Math.min(limits.events, maxHistoryEvents) }
          : limits;
        const merge = (stored: readonly PartitionEvents[]): FollowedPortion => {
          const selected = buffered.flatMap((partition) =>
            partition === null
              ? []
              : {
                  ...partition,
                  events: partition.events.filter((event) => selects(filter, event)),
                },
          );
          return { ...mergePartitions(start, [...selected, ...stored], bounds), atHead };
        };
        if (atHead) {
          const portion = merge([]);
          // Events that come later in this iteration would be missing in an empty portion.
          if (portion.events.length > 0) setImmediate(share(key, Promise.resolve(portion)));
          return portion;
        }
        const read = async () => merge(await readStored(filter, start, missing, bounds, false));
        const reading = isBehind && readsHistory ? catchUp(read) : limitReads(read);
        const drop = share(key, reading);
        reading.then(({ events }) => {
          setTimeout(drop, readsHistory && events.length > 0 ? sharedMs : 0).unref();
        }, drop);
        return reading;
      };

      return {
        /** The cursor after the last portion. */
        get cursor(): Cursor {
          return cursor;
        },
        /**
         * Returns the next events: none after `withinMs` without any, or after `close`.
         *
         * @throws HistoryIncomplete
         */
        async next(withinMs: number): Promise<readonly FeedEvent[]> {
          const deadline = performance.now() + withinMs;
          for (;;) {
            if (isClosed) return [];
            const portion = await readNext();
            isBehind = !portion.atEnd;
            cursor = portion.next;
            if (portion.events.length > 0) return portion.events;
            const leftMs = deadline - performance.now();
            if (leftMs <= 0) return [];
            // While stored records follow, only the limit of concurrent reads delays the next portion.
            if (!portion.atEnd) continue;
            await wakeUp.sleep(portion.atHead ? leftMs : Math.min(pollMs, leftMs));
            // The next call reads events that came at this moment.
            if (portion.atHead && performance.now() >= deadline) return [];
          }
        },
        /** Continues at another cursor. */
        seek(to: Cursor): void {
          cursor = to;
        },
        close(): void {
          if (isClosed) return;
          isClosed = true;
          group.streams -= 1;
          if (isStream && group.streams === 0) groups.delete(name);
          release();
          wakeUp.wake();
        },
      };
    },

    stop: () => heads.stop(),
  };
};

export type Feed = ReturnType<typeof openFeed>;
export type Follower = ReturnType<Feed['follow']>;
