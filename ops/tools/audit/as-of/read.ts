import { readRecord } from '../../../../projectors/runtime/read-record.js';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import type { ProgressOptions } from '../../cli/long-work.js';
import { partitionOf } from '../../../event-log/partition.js';
import {
  requireFromStart,
  wholeRanges,
  type Batch,
  type EventLog,
  type PartitionRange,
} from '../../../event-log/port.js';

export interface LogPart extends PartitionRange {
  readonly topic: TopicName;
  /** Filters records by key before they are parsed; by default all are read. */
  readonly only?: (key: string) => boolean;
}

export interface AsOfQuery extends ProgressOptions {
  readonly log: EventLog;
  /** Inclusive. */
  readonly moment: Date;
}

/** The offsets that a snapshot is based on. Late visits with an earlier time may still be appended. */
export interface ReadSummary {
  /** The first offset that was not read, by topic and partition. */
  readonly readUpTo: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The number of records without a readable event. */
  readonly unreadable: number;
}

/** Returns the partitions of a topic, or the partition of a key. @throws LogIncomplete */
export const partsOf = async (
  log: EventLog,
  topic: TopicName,
  key?: string,
): Promise<readonly LogPart[]> => {
  if (key === undefined) {
    return (await wholeRanges(log, topic)).map((range) => ({ topic, ...range }));
  }
  const ranges = await log.ranges(topic);
  const partition = partitionOf(key, ranges.length);
  const own = ranges.filter((range) => range.partition === partition);
  for (const range of own) requireFromStart(topic, range);
  return own.map((range) => ({ topic, ...range, only: (other) => other === key }));
};

/** Timestamps have a fixed format, so they compare as text. */
export const happenedBy = (moment: Date): ((event: { readonly time: string }) => boolean) => {
  const limit = moment.toISOString();
  return ({ time }) => time <= limit;
};

/** Reads a range of a partition. @throws Error if the log ends before the range */
export async function* readRange(
  log: EventLog,
  topic: TopicName,
  { partition, first, next }: PartitionRange,
): AsyncGenerator<Batch> {
  let offset = first;
  for await (const batch of log.read(topic, partition, first, next)) {
    yield batch;
    offset = (batch.records.at(-1)?.offset ?? offset) + 1;
  }
  if (offset !== next) {
    throw new Error(`${topic}/${partition} ends at offset ${offset}, not at ${next}`);
  }
}

/** Passes the readable events of the parts to `onBatch`, in order and batch by batch, with repeats. */
export const readParts = async (
  { log, progress, signal }: AsOfQuery,
  parts: readonly LogPart[],
  onBatch: (events: readonly LinklogEvent[], part: LogPart) => void,
): Promise<ReadSummary> => {
  const total = parts.reduce((sum, { first, next }) => sum + next - first, 0);
  const readUpTo: Record<string, Record<string, number>> = {};
  let done = 0;
  let unreadable = 0;
  progress?.(done, total);
  for (const part of parts) {
    const { topic, partition, next, only } = part;
    for await (const { records } of readRange(log, topic, part)) {
      signal?.throwIfAborted();
      const selected = only ? records.filter(({ key }) => only(key)) : records;
      const readings = selected.map((record) => readRecord(topic, record));
      const events = readings.flatMap((reading) => ('event' in reading ? [reading.event] : []));
      unreadable += readings.length - events.length;
      if (events.length > 0) onBatch(events, part);
      done += records.length;
      progress?.(done, total);
    }
    readUpTo[topic] = { ...readUpTo[topic], [partition]: next };
  }
  return { readUpTo, unreadable };
};

/** Returns the time of the first event; `null` if the log is empty. No link or visit precedes the first key. */
export const beginningOf = async (log: EventLog): Promise<string | null> => {
  const times: string[] = [];
  const parts = [
    ...(await partsOf(log, topics.accounts.name)),
    ...(await partsOf(log, topics.platform.name)),
  ];
  const firstRecords = parts.map((part) => ({
    ...part,
    next: Math.min(part.first + 1, part.next),
  }));
  await readParts({ log, moment: new Date() }, firstRecords, (events) => {
    times.push(...events.map(({ time }) => time));
  });
  return times.sort()[0] ?? null;
};
