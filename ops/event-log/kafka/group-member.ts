import kafkajs, {
  type Cluster,
  type EachBatchPayload,
  type Kafka,
  type KafkaMessage,
  type PartitionAssigner,
} from 'kafkajs';
import type { TopicName } from '../../../schemas/events/topics.js';
import { endsWithin } from '../../platform/concurrency/deadline.js';
import { deferred } from '../../platform/concurrency/deferred.js';
import type { LogRecord } from '../port.js';
import type { KafkaSettings } from './settings.js';
import { partitionCounts, topicIn } from './topics.js';

/** Compressed bytes of one partition in a fetch; uncompressed, they are ten times as many. */
export const maxBytesPerPartition = 131_072;
/** Longer than a fetch, which `disconnect` waits for (ms). */
const disconnectMs = 4_000;

/** Assigned partitions by the topic's name in the cluster. */
export type Assignment = Readonly<Record<string, readonly number[]>>;

/** A missing key or value, of another producer, becomes an empty string and thus a dead letter. */
export const logRecordOf = ({ offset, key, value }: KafkaMessage): LogRecord => ({
  offset: Number(offset),
  key: key?.toString() ?? '',
  value: value?.toString() ?? '',
});

/** The round-robin assigner of kafkajs, without partitions that an operator has added to a topic. */
const assignOwnPartitions = (settings: KafkaSettings): PartitionAssigner => {
  const counts = partitionCounts(settings);
  return ({ cluster, ...rest }) => {
    const findTopicPartitionMetadata: Cluster['findTopicPartitionMetadata'] = (topic) =>
      cluster
        .findTopicPartitionMetadata(topic)
        .filter(({ partitionId }) => partitionId < (counts.get(topic) ?? Infinity));
    return kafkajs.PartitionAssigners.roundRobin({
      ...rest,
      cluster: Object.assign(Object.create(cluster) as Cluster, { findTopicPartitionMetadata }),
    });
  };
};

/** A consumer that commits no offsets by itself and does not restart after a crash. */
export const createGroupMember = (
  kafka: Kafka,
  settings: KafkaSettings,
  options: {
    readonly groupId: string;
    readonly topics: readonly TopicName[];
    /** How long a fetch waits for records. `resume` and `disconnect` wait for the fetch. */
    readonly maxWaitTimeInMs: number;
    readonly sessionTimeout?: number;
    readonly heartbeatInterval?: number;
    /** Called at each join, including rebalances. */
    readonly onJoin: (assignment: Assignment) => void;
    readonly handle: (payload: EachBatchPayload) => Promise<void>;
  },
) => {
  const { topics, onJoin, handle, ...consumerOptions } = options;
  const consumer = kafka.consumer({
    ...consumerOptions,
    maxBytesPerPartition,
    partitionAssigners: [assignOwnPartitions(settings)],
    allowAutoTopicCreation: false,
    retry: { restartOnFailure: () => Promise.resolve(false) },
  });
  const handling = new Set<Promise<void>>();
  const joined = deferred();
  const crashed = deferred<never>();
  crashed.promise.catch(() => undefined); // It may reject before a caller awaits it.
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    crashed.reject(payload.error);
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    onJoin(payload.memberAssignment);
    joined.resolve();
  });
  return {
    consumer,
    /** Rejects if the member crashes and must be replaced. */
    crashed: crashed.promise,
    /** Resolves when partitions are assigned. */
    async join(): Promise<void> {
      await consumer.connect();
      await consumer.subscribe({
        topics: topics.map((topic) => topicIn(settings, topic)),
        fromBeginning: true,
      });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        async eachBatch(payload) {
          const work = handle(payload);
          handling.add(work);
          await work.finally(() => handling.delete(work));
        },
      });
      await Promise.race([joined.promise, crashed.promise]);
    },
    /** Waits for `handle`, but not for an unresponsive cluster. */
    async leave(): Promise<void> {
      await Promise.all(handling);
      await endsWithin(consumer.disconnect(), disconnectMs);
    },
  };
};

export type GroupMember = ReturnType<typeof createGroupMember>;
