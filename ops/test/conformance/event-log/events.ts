import { randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { newEvent } from '../../../../schemas/events/codec.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { recordOf, someVisit } from '../../../../schemas/testing/events.js';
import { partitionOf } from '../../../event-log/partition.js';
import type { NewRecord } from '../../../event-log/port.js';

/** Topics with many partitions, for tests that need several. */
export const manyPartitions = [topics.links.name, topics.visits.name, topics.usage.name] as const;

export type ManyPartitions = (typeof manyPartitions)[number];

export const partitionCount = (topic: TopicName): number => {
  const found = Object.values(topics).find(({ name }) => name === topic);
  if (!found) throw new RangeError(`unknown topic ${topic}`);
  return found.partitions;
};

/** A new code. */
export const newCode = (): string => randomBytes(6).toString('hex');

/** A new code of a partition. */
export const codeIn = (topic: TopicName, partition: number): string => {
  const count = partitionCount(topic);
  for (;;) {
    const code = newCode();
    if (partitionOf(code, count) === partition) return code;
  }
};

/** A new event of a topic. */
export const eventIn = (topic: ManyPartitions, subject: string, sequence = 1): LinklogEvent => {
  const time = new Date();
  const metadata = { id: uuid(), subject, sequence, time };
  switch (topic) {
    case 'linklog.links.v1':
      return newEvent('LinkBlocked', { reason: 'conformance' }, metadata);
    case 'linklog.visits.v1':
      return newEvent('LinkVisited', { ...someVisit, click: sequence }, metadata);
    case 'linklog.usage.v1':
      return newEvent('CallsMetered', { minute: time.toISOString(), calls: 1 }, metadata);
    default: {
      const _: never = topic;
      return _;
    }
  }
};

/** Records of one key, in order. */
export const recordsOf = (topic: ManyPartitions, key: string, count: number): NewRecord[] =>
  Array.from({ length: count }, (_, index) => recordOf(eventIn(topic, key, index + 1)));

/** The id of the event in a record. */
export const eventIdOf = ({ value }: NewRecord): string => (JSON.parse(value) as { id: string }).id;
