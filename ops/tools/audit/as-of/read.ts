import { readRecord, type ReadableRecord } from '../../../../projectors/runtime/read-record.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import type { Watch } from '../../cli/long-work.js';
import { partitionOf } from '../../../event-log/partition.js';
import {
  requireFromStart,
  wholeRanges,
  type Batch,
  type EventLog,
  type PartitionRange,
} from '../../../event-log/port.js';

/** A piece of the log that is to be read: a partition up to where it ended when this was asked. */
export interface LogPart extends PartitionRange {
  readonly topic: TopicName;
  /** Which records' keys matter; all unless told. The others are not even parsed. */
  readonly only?: (key: string) => boolean;
}

export interface LookBack extends Watch {
  readonly log: EventLog;
  /** The events of this millisecond are in it. */
  readonly moment: Date;
}

/** What an answer rests on. More may come to the log later that happened before the moment. */
export interface Grounds {
  /** By topic and partition: the first offset that was not read. */
  readonly readUpTo: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Records among them that hold no event that this version can read. */
  readonly unreadable: number;
}

/** The partitions of a topic, or the one that has all records of a key. @throws LogIncomplete */
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

/** Whether something had happened by a moment. Timestamps have one fixed form, so text compares. */
export const happenedBy = (moment: Date): ((event: { readonly time: string }) => boolean) => {
  const last = moment.toISOString();
  return ({ time }) => time <= last;
};

/** The records of a partition in a range. @throws Error when the log ends before it */
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

/** Gives what can be read of the parts, one after the other, batch by batch. Repeats are included. */
export const readParts = async (
  { log, progress, signal }: LookBack,
  parts: readonly LogPart[],
  take: (readings: readonly ReadableRecord[], part: LogPart) => void,
): Promise<Grounds> => {
  const total = parts.reduce((sum, { first, next }) => sum + next - first, 0);
  const readUpTo: Record<string, Record<string, number>> = {};
  let done = 0;
  let unreadable = 0;
  progress?.(done, total);
  for (const part of parts) {
    const { topic, partition, next, only } = part;
    for await (const { records } of readRange(log, topic, part)) {
      signal?.throwIfAborted();
      const wanted = only ? records.filter(({ key }) => only(key)) : records;
      const readings = wanted.map((record) => readRecord(topic, record));
      const readable = readings.filter((reading) => 'event' in reading);
      unreadable += readings.length - readable.length;
      if (readable.length > 0) take(readable, part);
      done += records.length;
      progress?.(done, total);
    }
    readUpTo[topic] = { ...readUpTo[topic], [partition]: next };
  }
  return { readUpTo, unreadable };
};

/**
 * When the log begins: nothing was made or visited before there was a key. `null` while it is empty.
 */
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
  await readParts({ log, moment: new Date() }, firstRecords, (readings) => {
    times.push(...readings.map(({ event }) => event.time));
  });
  return times.sort()[0] ?? null;
};
