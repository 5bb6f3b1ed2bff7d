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

/** Bytes of one partition in one fetch; compressed ones become ten times as many in memory. */
const maxBytesPerPartition = 131_072;
/** More than the longest fetch, which the end waits for. */
const disconnectMs = 4_000;

/** The partitions that the group gave to a member, by the topic's name in the cluster. */
export type Assignment = Readonly<Record<string, readonly number[]>>;

/** A record of the port. A missing key or value, not written by us, gives empty text: a dead letter. */
export const logRecordOf = ({ offset, key, value }: KafkaMessage): LogRecord => ({
  offset: Number(offset),
  key: key?.toString() ?? '',
  value: value?.toString() ?? '',
});

/**
 * Kafkajs's round robin over the partitions that Linklog writes. A partition that an operator has added to a
 * topic is assigned to no member.
 */
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

/** A consumer that commits no offsets and decides itself what to do after a crash. */
export const createGroupMember = (
  kafka: Kafka,
  settings: KafkaSettings,
  options: {
    readonly groupId: string;
    readonly topics: readonly TopicName[];
    /** How long a fetch waits for records; a resume and the end wait for it. */
    readonly maxWaitTimeInMs: number;
    readonly sessionTimeout?: number;
    readonly heartbeatInterval?: number;
    /** Called at each join, also after the group was balanced anew. */
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
  crashed.promise.catch(() => undefined); // Callers may await it, and need not.
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    crashed.reject(payload.error);
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    onJoin(payload.memberAssignment);
    joined.resolve();
  });
  return {
    consumer,
    /** Rejects when the member can go on no more: another one is to be made. */
    crashed: crashed.promise,
    /** Resolves when the group has given partitions to this member. */
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
    /** Resolves when no `handle` is running; a cluster that does not answer is not waited for. */
    async leave(): Promise<void> {
      await Promise.all(handling);
      // The group forgets by itself a member that it does not hear of.
      await endsWithin(consumer.disconnect(), disconnectMs);
    },
  };
};

export type GroupMember = ReturnType<typeof createGroupMember>;
