import { Kafka, logLevel, type Admin } from 'kafkajs';
import { topicNames } from '../../../schemas/events/topics.js';
import { patchKafkajs } from '../../event-log/kafka/kafkajs-patches.js';
import { eventually } from '../support/waiting.js';

const replicasAtMost = 3;
const inSyncWithinMs = 120_000;
const movedWithinMs = 60_000;

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

/** Makes other brokers the leaders of all partitions of a broker: takes its replicas away, and gives them back. */
export const moveLeaders = (brokers: string, broker: number): Promise<void> =>
  withAdmin(brokers, async (admin) => {
    const read = async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [...topicNames] });
      return topics.map(({ name, partitions }) => ({
        topic: name,
        partitions: partitions.filter(({ leader }) => leader === broker),
      }));
    };
    const led = (await read()).filter(({ partitions }) => partitions.length > 0);
    if (led.length === 0) return;
    const assign = (withBroker: readonly number[]): Promise<void> =>
      admin.alterPartitionReassignments({
        topics: led.map(({ topic, partitions }) => ({
          topic,
          partitionAssignment: partitions.map(({ partitionId, replicas }) => ({
            partition: partitionId,
            replicas: [...replicas.filter((replica) => replica !== broker), ...withBroker],
          })),
        })),
      });
    await assign([]);
    const isMoved = async (): Promise<boolean> =>
      (await read()).every(({ partitions }) => partitions.length === 0);
    await eventually(`broker ${broker} leads no partition`, isMoved, movedWithinMs);
    await assign([broker]);
  });

/** Waits until all replicas of every partition are in sync. */
export const untilInSync = (brokers: string): Promise<void> => {
  const replicas = Math.min(brokers.split(',').length, replicasAtMost);
  const isInSync = async (): Promise<boolean> => {
    try {
      const { topics } = await withAdmin(brokers, (admin) =>
        admin.fetchTopicMetadata({ topics: [...topicNames] }),
      );
      return topics.every(({ partitions }) =>
        partitions.every(({ isr }) => isr.length === replicas),
      );
    } catch {
      return false; // A broker is still starting.
    }
  };
  return eventually('every replica is in sync', isInSync, inSyncWithinMs);
};
