import { partitionCountOf, topicNames, type TopicName } from '../../../schemas/events/topics.js';
import { groupBy } from '../../platform/collections.js';
import { partitionOf } from '../partition.js';
import type { TopicPartition } from '../port.js';

/** Partitions of the log with events that are unsent for so long that no new ones should be decided. */
export class StalledPartitions {
  readonly #partitions: ReadonlyMap<TopicName, ReadonlySet<number>>;

  constructor(partitions: readonly TopicPartition[]) {
    this.#partitions = new Map(
      [...groupBy(partitions, ({ topic }) => topic)].map(([topic, stalled]) => [
        topic,
        new Set(stalled.map(({ partition }) => partition)),
      ]),
    );
  }

  get areNone(): boolean {
    return this.#partitions.size === 0;
  }

  /** Whether the subject's partition is stalled. */
  includes(topic: TopicName, subject: string): boolean {
    const stalled = this.#partitions.get(topic);
    return stalled?.has(partitionOf(subject, partitionCountOf(topic))) ?? false;
  }

  /** Whether all partitions of the topic are stalled. */
  includesAll(topic: TopicName): boolean {
    return this.#partitions.get(topic)?.size === partitionCountOf(topic);
  }
}

export const noneStalled = new StalledPartitions([]);

export const allStalled = new StalledPartitions(
  topicNames.flatMap((topic) =>
    Array.from({ length: partitionCountOf(topic) }, (_, partition) => ({ topic, partition })),
  ),
);
