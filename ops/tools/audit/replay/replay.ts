import pLimit, { type LimitFunction } from 'p-limit';
import { setImmediate as yieldToEventLoop, setTimeout as sleep } from 'node:timers/promises';
import { readRecord } from '../../../../projectors/runtime/read-record.js';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { ledgerTopics } from '../../../ledger/rebuild/rebuild.js';
import type { Batch, EventLog } from '../../../event-log/port.js';
import { partsOf, readRange, type LogPart } from '../as-of/read.js';
import type { ProgressOptions } from '../../cli/long-work.js';
import { matcherOf, topicsOf, type EventFilter } from './filter.js';
import { mergeInOrder, type PartitionEvents, type PlacedEvent } from './order.js';
import { repeatsOfPartition } from './repeats.js';
import { counted, type Output } from '../../cli/output.js';

const followIntervalMs = 250;
/** Less than the connections of the pool, because a query that waits for a connection times out. */
const maxConcurrentReads = 4;

/** A record without a readable event, which projections store as a dead letter. */
export interface UnreadableRecord {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
}

/** Only the first records are reported one by one. */
const maxReported = 20;

export const reportUnreadable = () => {
  let records = 0;
  return {
    report: ({ topic, partition, offset, reason }: UnreadableRecord): void => {
      records += 1;
      if (records > maxReported) return;
      // Removes control characters, because another writer may have chosen the text.
      const plain = reason.replaceAll(/[\s\p{Cc}]+/gu, ' ');
      process.stderr.write(`linklog: ${topic}/${partition} at offset ${offset}: ${plain}\n`);
    },
    count: () => records,
    outcome(): Pick<Output, 'notice' | 'exitCode'> {
      if (records === 0) return {};
      const omitted = `${counted(records, 'unreadable record')} omitted`;
      const listed = records > maxReported ? `; the first ${maxReported} are listed` : '';
      return { notice: omitted + listed, exitCode: 1 };
    },
  };
};

export interface ReplayOptions extends ProgressOptions {
  readonly log: EventLog;
  readonly filter: EventFilter;
  readonly keepRepeats?: boolean;
  readonly follow?: boolean;
  /** Receives each record that was omitted. */
  readonly onUnreadable: (record: UnreadableRecord) => void;
}

async function* prefetch<Value>(
  values: AsyncIterable<Value>,
  limited: LimitFunction,
): AsyncGenerator<Value> {
  const iterator = values[Symbol.asyncIterator]();
  const request = (): Promise<IteratorResult<Value>> => {
    const requested = limited(() => iterator.next());
    // The failure is thrown by the `await` below, unless the caller has ended the iteration.
    requested.catch(() => undefined);
    return requested;
  };
  let next = request();
  try {
    for (;;) {
      const result = await next;
      if (result.done) return;
      next = request();
      yield result.value;
    }
  } finally {
    await iterator.return?.();
  }
}

/**
 * Reads the matching events of the log up to its end at the start, in the order of `mergeInOrder`. With `follow`, new
 * events are read in rounds, each of them in that order.
 *
 * Every record is parsed by its schema, which marks the secret fields. That is half of the CPU time of a replay.
 */
export async function* replay(options: ReplayOptions): AsyncGenerator<readonly PlacedEvent[]> {
  const { log, filter, keepRepeats = false, follow = false, signal } = options;
  const selected = topicsOf(filter);
  const matches = matcherOf(filter);
  const repeats = new Map<string, (event: LinklogEvent) => boolean>();
  const readUpTo = new Map<string, number>();
  const limited = pLimit(maxConcurrentReads);
  let [done, total] = [0, 0];

  const eventsIn = function* (batch: Batch, isRepeat: (event: LinklogEvent) => boolean) {
    const { topic, partition } = batch;
    for (const record of batch.records) {
      if (filter.subject !== undefined && record.key !== filter.subject) continue;
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
    for await (const batch of prefetch(readRange(log, part.topic, part), limited)) {
      // Without this, buffered batches would block the event loop for I/O and signals.
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
    // In reverse, so that the events that an event refers to are read too.
    for (const topic of [...ledgerTopics].reverse().filter((name) => selected.includes(name))) {
      for (const part of await partsOf(log, topic, filter.subject)) {
        parts.push({ ...part, first: readUpTo.get(`${topic}/${part.partition}`) ?? part.first });
      }
    }
    const unread = parts.filter(({ first, next }) => first < next);
    total += unread.reduce((sum, { first, next }) => sum + next - first, 0);
    options.progress?.(done, total);
    yield* mergeInOrder(unread.map(eventsOf));
    if (!follow) return;
    if (unread.length === 0) await sleep(followIntervalMs, undefined, { signal });
  }
}
