/** What an operator does to the replicas of a Kafka cluster. */
import { Kafka, logLevel, type Admin, type PartitionMetadata } from 'kafkajs';
import { topicNames } from '../../../schemas/events/topics.js';
import { patchKafkajs } from '../../event-log/kafka/kafkajs-patches.js';
import { eventually } from '../support/waiting.js';
import { electPreferredLeaders } from './elect-leaders.js';

const replicasAtMost = 3;
const inSyncWithinMs = 120_000;

/** A client that knows nothing of the product's own. */
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

/** Waits until every partition has all replicas of this cluster in sync. */
export const untilInSync = (brokers: string): Promise<void> => {
  const replicas = Math.min(brokers.split(',').length, replicasAtMost);
  const isInSync = async (): Promise<boolean> => {
    try {
      return (await partitionsOf(brokers)).every(({ isr }) => isr.length === replicas);
    } catch {
      return false; // A broker is still starting: asked again until the deadline.
    }
  };
  return eventually('every replica is in sync', isInSync, inSyncWithinMs);
};

type Order = (partition: Partition, index: number) => readonly number[];

/** Gives each partition these replicas, the preferred leader first, and waits until it has them. */
const assign = async (brokers: string, orderOf: Order): Promise<void> => {
  const partitions = await partitionsOf(brokers);
  const wanted = partitions.map((partition, index) => ({
    topic: partition.topic,
    partition: partition.partitionId,
    replicas: [...orderOf(partition, index)],
  }));
  await withAdmin(brokers, (admin) =>
    admin.alterPartitionReassignments({
      topics: topicNames.map((topic) => ({
        topic,
        partitionAssignment: wanted
          .filter((one) => one.topic === topic)
          .map(({ partition, replicas }) => ({ partition, replicas })),
      })),
    }),
  );
  const isAssigned = async (): Promise<boolean> => {
    const found = await partitionsOf(brokers);
    return wanted.every(({ topic, partition, replicas }) => {
      const now = found.find((one) => one.topic === topic && one.partitionId === partition);
      return now?.replicas.join() === replicas.join() && now.isr.length === replicas.length;
    });
  };
  await eventually('every partition has its new replicas', isAssigned, inSyncWithinMs);
};

/** The items from this index on, then those before it. */
const rotated = <Item>(items: readonly Item[], by: number): readonly Item[] => {
  const start = by % Math.max(1, items.length);
  return [...items.slice(start), ...items.slice(0, start)];
};

/**
 * Moves every partition off a broker and back. A partition whose leader this broker is gets another one, and its log
 * is copied anew. The number of replicas is one less meanwhile where the cluster has no other broker.
 */
export const reassignReplicas = async (brokers: string, index: number): Promise<void> => {
  const ids = brokers.split(',').map((_, broker) => broker + 1);
  const left = index + 1;
  const others = ids.filter((id) => id !== left);
  const without: Order = (_, number) => rotated(others, number).slice(0, replicasAtMost);
  await assign(brokers, without);
  await assign(brokers, (partition, number) =>
    [...without(partition, number), left].slice(0, replicasAtMost),
  );
};

/** Makes the next replica of each partition its leader: the preferred one first, then an election. */
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
