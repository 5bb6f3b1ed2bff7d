import type { KafkaMessage, Message } from 'kafkajs';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { partitionOf } from '../partition.js';
import type { LogRecord } from '../port.js';

/** What stands beside each value: it is one CloudEvent, as JSON. */
const headers = { 'content-type': 'application/cloudevents+json' } as const;

const counts = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

/** A record on its way to its partition; text or its UTF-8. */
export interface OutgoingRecord extends Message {
  readonly partition: number;
}

export const outgoingRecord = <Text extends string | Buffer>(
  topic: TopicName,
  { key, value }: { readonly key: Text; readonly value: Text },
): OutgoingRecord => ({ key, value, headers, partition: partitionOf(key, counts.get(topic) ?? 1) });

/** A record as the port has it. What is not ours (no key, no value) gives empty text: a dead letter. */
export const recordOf = ({ offset, key, value }: KafkaMessage): LogRecord => ({
  offset: Number(offset),
  key: key?.toString() ?? '',
  value: value?.toString() ?? '',
});
