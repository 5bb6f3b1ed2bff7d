import type { KafkaMessage } from 'kafkajs';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { partitionOf } from '../partition.js';
import type { LogRecord } from '../port.js';

const counts = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

/** A record on its way to its partition. */
export interface OutgoingRecord {
  readonly partition: number;
  readonly key: Buffer;
  readonly value: Buffer;
}

export const outgoingRecord = (topic: TopicName, key: Buffer, value: Buffer): OutgoingRecord => ({
  partition: partitionOf(key, counts.get(topic) ?? 1),
  key,
  value,
});

/** A record of the port. A missing key or value, not written by us, gives empty text: a dead letter. */
export const logRecordOf = ({ offset, key, value }: KafkaMessage): LogRecord => ({
  offset: Number(offset),
  key: key?.toString() ?? '',
  value: value?.toString() ?? '',
});
