import pLimit, { type LimitFunction } from 'p-limit';
import { setImmediate as yieldToEventLoop, setTimeout as sleep } from 'node:timers/promises';
import { readRecord } from '../../../../projectors/runtime/read-record.js';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { ledgerTopics } from '../../../ledger/rebuild/rebuild.js';
import type { Batch, EventLog } from '../../../event-log/port.js';
import { partsOf, readRange, type LogPart } from '../as-of/read.js';
import type { Watch } from '../../cli/long-work.js';
import { matcherOf, topicsOf, type EventFilter } from './filter.js';
import { mergeInOrder, type PartitionEvents, type PlacedEvent } from './order.js';
import { repeatsOfPartition } from './repeats.js';

const followEveryMs = 250;
/** Fewer than a pool has connections: a query that waits for a connection fails after a while. */
const readingsAtOnce = 4;

/** A record that projections set aside, too: what stands there is no event that can be told. */
export interface UnreadableRecord {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
}

export interface ReplayOptions extends Watch {
  readonly log: EventLog;
  readonly filter: EventFilter;
  /** Whether an event that the log has twice is told twice. */
  readonly keepRepeats?: boolean;
  /** Goes on with what comes, until the signal. */
  readonly follow?: boolean;
  /** Hears of each record that was left out since it holds no event. */
  readonly onUnreadable: (record: UnreadableRecord) => void;
}

/** Asks for the next value while the caller works on the last one: one more is in memory. */
async function* ahead<Value>(
  values: AsyncIterable<Value>,
  limited: LimitFunction,
): AsyncGenerator<Value> {
  const iterator = values[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<Value>> => {
    const asked = limited(() => iterator.next());
    // The caller that awaits it gets the failure; nobody may await it any more.
    asked.catch(() => undefined);
    return asked;
  };
  let next = ask();
  try {
    for (;;) {
      const result = await next;
      if (result.done) return;
      next = ask();
      yield result.value;
    }
  } finally {
    await iterator.return?.();
  }
}

/**
 * The events that a filter asks for, in the order of `mergeInOrder`: all that the log holds at the
 * start. A follower goes on in rounds, each of them in that order, as events come.
 *
 * Every record is read by its schema, though not every caller needs that: it costs half of what a
 * replay spends on an event, and nothing is told of which it is not known what in it is secret.
 */
export async function* replay(options: ReplayOptions): AsyncGenerator<readonly PlacedEvent[]> {
  const { log, filter, keepRepeats = false, follow = false, signal } = options;
  const wanted = topicsOf(filter);
  const matches = matcherOf(filter);
  const repeats = new Map<string, (event: LinklogEvent) => boolean>();
  const readUpTo = new Map<string, number>();
  const limited = pLimit(readingsAtOnce);
  let [done, total] = [0, 0];

  const eventsIn = function* (batch: Batch, isRepeat: (event: LinklogEvent) => boolean) {
    const { topic, partition } = batch;
    for (const record of batch.records) {
      if (filter.code !== undefined && record.key !== filter.code) continue;
      const { offset } = record;
      const reading = readRecord(topic, record);
      if ('error' in reading) {
        options.onUnreadable({ topic, partition, offset, reason: reading.error.message });
      } else if (matches(reading.event) && (keepRepeats || !isRepeat(reading.event))) {
        yield { topic, partition, offset, event: reading.event };
      }
    }
  };

  async function* eventsOf(part: LogPart): PartitionEvents {
    const name = `${part.topic}/${part.partition}`;
    const isRepeat = repeats.get(name) ?? repeatsOfPartition();
    repeats.set(name, isRepeat);
    for await (const batch of ahead(readRange(log, part.topic, part), limited)) {
      // Batches that are there already would be worked on without a pause, while connections and
      // signals wait.
      await yieldToEventLoop();
      signal?.throwIfAborted();
      yield eventsIn(batch, isRepeat);
      done += batch.records.length;
      options.progress?.(done, total);
    }
    readUpTo.set(name, part.next);
  }

  for (;;) {
    const parts: LogPart[] = [];
    // In an order in which nothing is missing that an event refers to.
    for (const topic of [...ledgerTopics].reverse().filter((name) => wanted.includes(name))) {
      for (const part of await partsOf(log, topic, filter.code)) {
        parts.push({ ...part, first: readUpTo.get(`${topic}/${part.partition}`) ?? part.first });
      }
    }
    const news = parts.filter(({ first, next }) => first < next);
    total += news.reduce((sum, { first, next }) => sum + next - first, 0);
    options.progress?.(done, total);
    yield* mergeInOrder(news.map(eventsOf));
    if (!follow) return;
    if (news.length === 0) await sleep(followEveryMs, undefined, { signal });
  }
}
