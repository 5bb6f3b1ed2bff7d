/** Operations on the replicas of a Kafka cluster. */
import { Kafka, logLevel, type Admin, type PartitionMetadata } from 'kafkajs';
import { topicNames } from '../../../schemas/events/topics.js';
import { patchKafkajs } from '../../event-log/kafka/kafkajs-patches.js';
import { eventually } from '../support/waiting.js';
import { electPreferredLeaders } from './elect-leaders.js';

const replicasAtMost = 3;
const inSyncWithinMs = 120_000;

/** A client that is independent of the product's. */
export const chaosClient = (brokers: string): Kafka => {
  patchKafkajs();
  return new Kafka({
    brokers: brokers.split(','),
    clientId: 'chaos',
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    retry: { initialRetryTime: 50, maxRetryTime: 1_000, retries: 20 },
  });
};

export const withAdmin = async <Result>(
  brokers: string,
  work: (admin: Admin) => Promise<Result>,
): Promise<Result> => {
  const admin = chaosClient(brokers).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
};

interface Partition extends PartitionMetadata {
  readonly topic: string;
}

const partitionsOf = (brokers: string): Promise<readonly Partition[]> =>
  withAdmin(brokers, async (admin) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [...topicNames] });
    return topics.flatMap(({ name, partitions }) =>
      partitions.map((partition) => ({ ...partition, topic: name })),
    );
  });

/** Waits until all replicas of every partition are in sync. */
export const untilInSync = (brokers: string): Promise<void> => {
  const replicas = Math.min(brokers.split(',').length, replicasAtMost);
  const isInSync = async (): Promise<boolean> => {
    try {
      return (await partitionsOf(brokers)).every(({ isr }) => isr.length === replicas);
    } catch {
      return false; // A broker is still starting.
    }
  };
  return eventually('every replica is in sync', isInSync, inSyncWithinMs);
};

type Order = (partition: Partition, index: number) => readonly number[];

/** Assigns replicas to each partition, the preferred leader first, and waits until they are in sync. */
const assign = async (brokers: string, orderOf: Order): Promise<void> => {
  const partitions = await partitionsOf(brokers);
  const assignments = partitions.map((partition, index) => ({
    topic: partition.topic,
    partition: partition.partitionId,
    replicas: [...orderOf(partition, index)],
  }));
  await withAdmin(brokers, (admin) =>
    admin.alterPartitionReassignments({
      topics: topicNames.map((topic) => ({
        topic,
        partitionAssignment: assignments
          .filter((assignment) => assignment.topic === topic)
          .map(({ partition, replicas }) => ({ partition, replicas })),
      })),
    }),
  );
  const isAssigned = async (): Promise<boolean> => {
    const found = await partitionsOf(brokers);
    return assignments.every(({ topic, partition, replicas }) => {
      const current = found.find((row) => row.topic === topic && row.partitionId === partition);
      return current?.replicas.join() === replicas.join() && current.isr.length === replicas.length;
    });
  };
  await eventually('the new replicas of every partition are in sync', isAssigned, inSyncWithinMs);
};

/** The items from this index on, then the items before it. */
const rotated = <Item>(items: readonly Item[], by: number): readonly Item[] => {
  const start = by % Math.max(1, items.length);
  return [...items.slice(start), ...items.slice(0, start)];
};

/**
 * Moves every partition off a broker and back. Partitions with this leader get another one, and their logs are copied.
 * In a cluster without a spare broker, partitions have one replica less in the meantime.
 */
export const reassignReplicas = async (brokers: string, index: number): Promise<void> => {
  const ids = brokers.split(',').map((_, broker) => broker + 1);
  const emptied = index + 1;
  const others = ids.filter((id) => id !== emptied);
  const without: Order = (_, number) => rotated(others, number).slice(0, replicasAtMost);
  await assign(brokers, without);
  await assign(brokers, (partition, number) =>
    [...without(partition, number), emptied].slice(0, replicasAtMost),
  );
};

/** Makes the next replica of each partition the preferred leader, then elects it. */
export const moveLeaders = async (brokers: string): Promise<void> => {
  await assign(brokers, ({ leader, replicas }) => {
    const ids = [...replicas].sort();
    return rotated(ids, ids.indexOf(leader) + 1);
  });
  await electPreferredLeaders(brokers.split(',')[0] ?? '', await partitionsOf(brokers));
  const isElected = async (): Promise<boolean> =>
    (await partitionsOf(brokers)).every(({ leader, replicas }) => leader === replicas[0]);
  await eventually('every preferred replica is the leader', isElected, inSyncWithinMs);
};
