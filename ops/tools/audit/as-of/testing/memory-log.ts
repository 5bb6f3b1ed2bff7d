import { topics, type TopicName } from '../../../../../schemas/events/topics.js';
import { partitionOf } from '../../../../event-log/partition.js';
import type { EventLog, LogRecord, NewRecord } from '../../../../event-log/port.js';

/** A log in memory. Its batches have one record, so that state must be kept between batches. */
export const memoryLog = () => {
  const partitions = new Map(
    Object.values(topics).map(({ name, partitions: count }) => [
      name,
      Array.from({ length: count }, (): LogRecord[] => []),
    ]),
  );
  const recordsOf = (topic: TopicName, partition: number): LogRecord[] =>
    partitions.get(topic)?.[partition] ?? [];
  const log: Pick<EventLog, 'ranges' | 'read'> = {
    ranges: (topic) =>
      Promise.resolve(
        (partitions.get(topic) ?? []).map((records, partition) => ({
          ...{ partition, first: 0, next: records.length },
        })),
      ),
    async *read(topic, partition, from, to) {
      for (const record of recordsOf(topic, partition).slice(from, to)) {
        yield await Promise.resolve({ topic, partition, records: [record] });
      }
    },
  };
  const append = (topic: TopicName, record: NewRecord): void => {
    const count = partitions.get(topic)?.length ?? 1;
    const records = recordsOf(topic, partitionOf(record.key, count));
    records.push({ ...record, offset: records.length });
  };
  return { log: log as EventLog, append };
};
