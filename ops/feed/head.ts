import { randomUUID } from 'node:crypto';
import { retryUntilAborted } from '../platform/concurrency/retry.js';
import { createOutageLog, type Logger, type OutageLog } from '../platform/logging.js';
import type { Delivery, EventLog, Subscription } from '../event-log/port.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { readKnownEvent } from '../../schemas/events/codec.js';
import { feedPartitions, firstIndexOf } from './cursor.js';
import { feedEventOf, type FeedEvent } from './filter.js';
import type { PartitionEvents } from './stored-events.js';

/** Bounds the events in memory of an account and partition. A client that is further behind reads the stored events. */
const maxBuffered = { events: 500, bytes: 500_000 };
/** Bounds the events in memory of all accounts of a topic (characters). */
const maxOfTopic = 32_000_000;
/** How long records may wait for a larger batch (ms). */
const mayWaitMs = 100;
/** How long the reader runs without clients (ms). */
const idleMs = 30_000;
const pauses = { firstMs: 200, longestMs: 5_000 };

/** The newest events of an account in a partition. */
interface BufferedEvents {
  /** The events from this offset on are in memory. */
  since: number;
  events: FeedEvent[];
  bytes: number;
}

/** The clients of an account that are at the head of a topic, and the events for them. */
interface AccountEvents {
  readonly wakeUps: Set<() => void>;
  /** The buffers by partition; empty before the reader runs. */
  partitions: readonly BufferedEvents[];
}

const emptyBuffers = (positions: readonly number[] | null): readonly BufferedEvents[] =>
  (positions ?? []).map((since) => ({ since, events: [], bytes: 0 }));

const bytesIn = ({ partitions }: AccountEvents): number =>
  partitions.reduce((sum, { bytes }) => sum + bytes, 0);

/** Drops the oldest events beyond the bounds of an account. */
const bound = (buffered: BufferedEvents): void => {
  let dropped = 0;
  for (const event of buffered.events) {
    const left = buffered.events.length - dropped;
    if (left <= maxBuffered.events && buffered.bytes <= maxBuffered.bytes) break;
    dropped += 1;
    buffered.bytes -= event.json.length;
    buffered.since = event.offset + 1;
  }
  if (dropped > 0) buffered.events = buffered.events.slice(dropped);
};

/** One reader of a topic at the head of the log, which all clients of a process share. It runs while there are clients. */
export class TopicHead {
  readonly #firstIndex: number;
  /** The next offset by partition; `null` while the reader does not run. */
  #positions: number[] | null = null;
  /** The accounts without new events for the longest time come first. */
  readonly #accounts = new Map<string, AccountEvents>();
  /** Of the events of all accounts. */
  #bytes = 0;
  #running: { readonly ended: AbortController; readonly done: Promise<void> } | null = null;
  #idle: NodeJS.Timeout | undefined;
  readonly #outage: OutageLog;

  constructor(
    private readonly topic: TopicName,
    private readonly log: EventLog,
    logger: Logger,
  ) {
    this.#firstIndex = firstIndexOf(topic);
    const message = 'the feed cannot read the log; trying again';
    this.#outage = createOutageLog(logger.child({ topic }), message);
  }

  /** Buffers the events of an account from now on, and calls `wake` after each batch with some. Returns a release. */
  join(account: string, wake: () => void): () => void {
    clearTimeout(this.#idle);
    this.#start();
    const known = this.#accounts.get(account) ?? {
      wakeUps: new Set(),
      partitions: emptyBuffers(this.#positions),
    };
    this.#accounts.set(account, known);
    // Several clients may share a function.
    const own = (): void => {
      wake();
    };
    known.wakeUps.add(own);
    return () => {
      known.wakeUps.delete(own);
      if (known.wakeUps.size > 0 || this.#accounts.get(account) !== known) return;
      this.#accounts.delete(account);
      this.#bytes -= bytesIn(known);
      if (this.#accounts.size === 0) {
        this.#idle = setTimeout(() => {
          void this.stop();
        }, idleMs).unref();
      }
    };
  }

  /** Returns the events of a partition from an offset on; `null` if they are not in memory. */
  eventsFrom(account: string, index: number, from: number): PartitionEvents | null {
    const partition = index - this.#firstIndex;
    const buffered = this.#accounts.get(account)?.partitions[partition];
    const end = this.#positions?.[partition];
    if (!buffered || end === undefined || from < buffered.since) return null;
    const { events } = buffered;
    const before = events.findLastIndex(({ offset }) => offset < from);
    return { index, events: events.slice(before + 1), scanned: Math.max(from, end), atEnd: true };
  }

  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    this.#running = null;
    this.#positions = null;
    running?.ended.abort(new Error('the reader was stopped'));
    await running?.done;
  }

  #start(): void {
    if (this.#running) return;
    const ended = new AbortController();
    const { signal } = ended;
    const done = retryUntilAborted(() => this.#follow(signal), {
      ...{ pauses, signal, onFailure: this.#outage.failed },
    });
    this.#running = { ended, done };
  }

  /** Reads from the current end of the log. */
  async #follow(signal: AbortSignal): Promise<void> {
    const ranges = await this.log.ranges(this.topic);
    signal.throwIfAborted();
    const positions = ranges.map(({ next }) => next);
    this.#positions = positions;
    for (const known of this.#accounts.values()) known.partitions = emptyBuffers(positions);
    this.#bytes = 0;
    // After a failure, clients at the former position must read the stored events up to this one.
    for (const { wakeUps } of this.#accounts.values()) for (const wake of wakeUps) wake();
    const subscription: Subscription = this.log.subscribe({
      // Each process reads all records.
      group: `feed-${randomUUID()}`,
      topics: [this.topic],
      mayWaitMs,
      position: (_topic, partition) =>
        Promise.resolve({
          logId: this.log.logId(this.topic),
          offset: positions[partition] ?? 0,
        }),
      handle: (batch) => {
        // A batch of an earlier subscription may be late.
        if (this.#positions === positions) this.#add(batch, positions);
        return Promise.resolve();
      },
    });
    const stop = (): void => {
      void subscription.stop();
    };
    signal.addEventListener('abort', stop);
    try {
      await subscription.done;
    } finally {
      signal.removeEventListener('abort', stop);
    }
    signal.throwIfAborted();
  }

  #add({ partition, records }: Delivery, positions: number[]): void {
    const index = this.#firstIndex + partition;
    const found: {
      readonly name: string;
      readonly known: AccountEvents;
      readonly event: FeedEvent;
    }[] = [];
    // Throws before the first change, because a failed batch is delivered again.
    for (const record of records.slice()) {
      // Parses only events of accounts with clients.
      const account = /"account":("(?:[^"\\]|\\.)*")/.exec(record.value)?.[1];
      const name = account === undefined ? '' : (JSON.parse(account) as string);
      const known = this.#accounts.get(name);
      if (!known) continue;
      const event = readKnownEvent(record.value);
      // The data may have an account too.
      if (event?.account !== name) continue;
      found.push({ name, known, event: feedEventOf(event, index, record.offset) });
    }
    const changed = new Map<string, AccountEvents>();
    for (const { name, known, event } of found) {
      const buffered = known.partitions[partition];
      if (!buffered) continue;
      const before = buffered.bytes;
      buffered.events.push(event);
      buffered.bytes += event.json.length;
      bound(buffered);
      this.#bytes += buffered.bytes - before;
      changed.set(name, known);
    }
    positions[partition] = (records.at(-1)?.offset ?? -1) + 1;
    for (const [name, known] of changed) {
      this.#accounts.delete(name);
      this.#accounts.set(name, known);
    }
    this.#boundAll(positions);
    for (const { wakeUps } of changed.values()) for (const wake of wakeUps) wake();
  }

  /** Drops the events of the first accounts beyond the bound of the topic. */
  #boundAll(positions: readonly number[]): void {
    for (const known of this.#accounts.values()) {
      if (this.#bytes <= maxOfTopic) return;
      const bytes = bytesIn(known);
      this.#bytes -= bytes;
      if (bytes > 0) known.partitions = emptyBuffers(positions);
    }
  }
}

/** The heads of all topics of the feed. */
export const openHeads = (log: EventLog, logger: Logger) => {
  const heads = new Map<TopicName, TopicHead>(
    [...new Set(feedPartitions.map(({ topic }) => topic))].map((topic) => [
      topic,
      new TopicHead(topic, log, logger),
    ]),
  );
  const headOf = (index: number): TopicHead => {
    const topic = feedPartitions[index]?.topic;
    const head = topic && heads.get(topic);
    if (!head) throw new RangeError(`the feed has no partition ${index}`);
    return head;
  };
  return {
    /** Joins the heads of the topics of these partitions. Returns a release. */
    join(account: string, indexes: readonly number[], wake: () => void): () => void {
      const joined = [...new Set(indexes.map(headOf))].map((head) => head.join(account, wake));
      return () => {
        for (const release of joined) release();
      };
    },
    eventsFrom: (account: string, index: number, from: number): PartitionEvents | null =>
      headOf(index).eventsFrom(account, index, from),
    async stop(): Promise<void> {
      await Promise.all([...heads.values()].map((head) => head.stop()));
    },
  };
};

export type Heads = ReturnType<typeof openHeads>;
