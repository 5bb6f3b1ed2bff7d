import type { ISocketFactory } from 'kafkajs';
import {
  partitionCountOf,
  topicNames,
  topics,
  type TopicName,
} from '../../../schemas/events/topics.js';
import { endsWithin } from '../../platform/concurrency/deadline.js';
import { deferred } from '../../platform/concurrency/deferred.js';
import { retry } from '../../platform/concurrency/retry.js';
import type { Logger } from '../../platform/logging.js';
import { ForeignLog } from '../log-binding.js';
import type { EventLog, PartitionRange } from '../port.js';
import { createClusterAdmin } from './connections.js';
import { createKafkaClient } from './client.js';
import { createFailureLog, kafkaFailure, type KafkaFailure } from './failures.js';
import { createPartitionReader } from './partition-reader.js';
import { createRecordProducer } from './producer.js';
import type { KafkaSettings } from './settings.js';
import { startKafkaSubscription } from './subscription.js';
import { TopicMissing, type TopicState } from './log-faults.js';
import { describeTopics, countPartitions, ensureTopics, TopicDiffers, topicIn } from './topics.js';

const pauses = { firstMs: 100, longestMs: 2_000 };
const closeMs = 3_000;
/** How long the health check reports a failed append without a later success (ms). Appends are retried more often. */
const appendFailureMs = 30_000;
/** How long before a failed append another one may have succeeded (ms): then only some partitions are unavailable. */
const partialFailureMs = 1_000;
/** How long `isReachable` waits for a response (ms), and how long a response counts (ms): one broker may not respond. */
const respondMs = 1_000;
const respondedMs = 5_000;
/** Failed attempts after which a topic counts as missing, because a broker may not know a new topic yet. */
const missingAfter = 4;

/** The log that the database is bound to. */
export interface LogBinding {
  /** Returns the topics that an earlier start has created. @throws ForeignLog */
  createdTopics(logName: string): Promise<ReadonlySet<TopicName>>;
  /** Called before the first write. @throws ForeignLog */
  bind(logName: string): Promise<void>;
}

/** Opens the log on a Kafka cluster, which may be unreachable. */
export const openKafkaLog = (options: {
  readonly settings: KafkaSettings;
  readonly logger: Logger;
  readonly binding?: LogBinding;
  readonly socketFactory?: ISocketFactory;
}) => {
  const { settings, logger } = options;
  const kafka = createKafkaClient(settings, logger, options.socketFactory);
  const closed = new AbortController();
  const admin = createClusterAdmin(kafka);
  const producer = createRecordProducer(kafka, settings);
  const reader = createPartitionReader(kafka, settings);
  let clusterId: string | undefined;
  let startFailure: KafkaFailure | null = null;
  let respondedAt = -Infinity;
  let appendedAt = -Infinity;
  let appendFailure: { readonly error: unknown; readonly at: number } | null = null;
  const logFailure = createFailureLog(logger);
  const subscriptions = new Set<ReturnType<typeof startKafkaSubscription>>();

  /** Topics whose absence is a fault; a first start creates the others. */
  let expected: ReadonlySet<TopicName> = new Set();

  /** Includes partitions that an operator has added, if the metadata lists them. */
  const allEndsOf = async (topic: TopicName): Promise<readonly PartitionRange[]> => {
    const offsets = await admin.run((client) => client.fetchTopicOffsets(topicIn(settings, topic)));
    return offsets
      .map(({ partition, low, high }) => ({ partition, first: Number(low), next: Number(high) }))
      .sort((a, b) => a.partition - b.partition);
  };

  const endsOf = async (topic: TopicName): Promise<readonly PartitionRange[]> => {
    const count = partitionCountOf(topic);
    const ends = await allEndsOf(topic);
    // kafkajs omits partitions that its metadata does not list.
    if (ends.length < count) {
      const name = topicIn(settings, topic);
      throw new Error(`Kafka listed ${ends.length} of ${count} partitions of ${name}`);
    }
    return ends.slice(0, count);
  };

  const inspectTopic = async (topic: TopicName, count: number | null): Promise<TopicState> => {
    const name = topicIn(settings, topic);
    if (count === null) return { topic, name, partitions: null };
    const known = await allEndsOf(topic);
    if (known.length === count) return { topic, name, partitions: known };
    // kafkajs caches metadata for five minutes.
    await admin.reconnect();
    return { topic, name, partitions: await allEndsOf(topic) };
  };

  const connect = async (): Promise<string> => {
    const id = (await admin.run((client) => client.describeCluster())).clusterId;
    const logName = `kafka:${id}:${settings.prefix}`;
    expected = (await options.binding?.createdTopics(logName)) ?? new Set();
    await admin.run((client) => ensureTopics(client, settings, expected));
    // New partitions have no leader for a moment.
    for (const topic of topicNames) await endsOf(topic);
    await options.binding?.bind(logName);
    expected = new Set(topicNames);
    return id;
  };

  const topicMissing = deferred<never>();
  // It may reject before a caller awaits it.
  topicMissing.promise.catch(() => undefined);

  const untilReady = async (): Promise<void> => {
    let missing = 0;
    clusterId = await retry(connect, {
      pauses,
      signal: closed.signal,
      isRetryable: (error) => !(error instanceof TopicDiffers || error instanceof ForeignLog),
      onFailure(error) {
        if (error instanceof TopicMissing) {
          // `watchFaults` reports it.
          missing += 1;
          if (missing >= missingAfter) topicMissing.reject(error);
          return;
        }
        startFailure = kafkaFailure(error);
        logFailure(startFailure);
      },
    });
    startFailure = null;
  };
  const ready = untilReady();
  // It may reject before a caller awaits it.
  ready.catch(() => undefined);

  const logId = (topic: TopicName): string => {
    if (clusterId === undefined) throw new Error('kafka has not been reached yet');
    return `kafka:${clusterId}:${topicIn(settings, topic)}`;
  };

  const ranges = async (topic: TopicName): Promise<readonly PartitionRange[]> => {
    await ready;
    try {
      return await endsOf(topic);
    } catch (error) {
      throw kafkaFailure(error);
    }
  };

  return {
    /** Resolves when the cluster is reachable and its topics are valid. Rejects with `TopicDiffers` or `ForeignLog`. */
    ready,
    /** Why the log is not ready; `null` if nothing has failed yet. */
    startFailure: () => startFailure,
    /** Checks that the log can be read and written now. @throws KafkaFailure */
    async check(): Promise<void> {
      if (startFailure) throw startFailure;
      if (appendFailure && performance.now() - appendFailure.at < appendFailureMs) {
        throw kafkaFailure(appendFailure.error);
      }
      await ranges(topics.platform.name);
    },
    /** Whether a broker has responded recently, or does now. */
    async isReachable(): Promise<boolean> {
      const hasResponded = (): boolean => performance.now() - respondedAt < respondedMs;
      const response = admin
        .run((client) => client.describeCluster())
        .then(
          () => {
            respondedAt = performance.now();
          },
          (err: unknown) => {
            logger.debug({ err }, 'kafka does not respond');
          },
        );
      if (!hasResponded()) await endsWithin(response, respondMs);
      return hasResponded();
    },
    /** Never resolves. Rejects with `TopicMissing` while `ready` waits for a deleted topic. */
    topicMissing: topicMissing.promise,
    /** Returns the current state of the created topics, without waiting for `ready`. */
    async inspect(): Promise<readonly TopicState[]> {
      const found = await admin.run((client) => countPartitions(client, settings));
      const states: TopicState[] = [];
      for (const [topic, count] of found) {
        if (count !== null || expected.has(topic)) states.push(await inspectTopic(topic, count));
      }
      return states;
    },
    /** Returns how Kafka stores the topics, without waiting for `ready`. */
    topicSettings: () => admin.run((client) => describeTopics(client, settings)),
    logId,
    mayRepeatLedger: true,
    ranges,
    async append(topic, records) {
      if (records.length === 0) return;
      await ready;
      try {
        await producer.send(topic, records);
        appendedAt = performance.now();
        appendFailure = null;
      } catch (error) {
        const at = performance.now();
        if (at - appendedAt > partialFailureMs) appendFailure = { error, at };
        throw error;
      }
    },
    read: reader.read,
    subscribe(subscribeOptions) {
      const context = { kafka, settings, logger, logId, ranges, ready };
      const subscription = startKafkaSubscription(subscribeOptions, context);
      subscriptions.add(subscription);
      const forget = (): void => {
        subscriptions.delete(subscription);
      };
      subscription.done.then(forget, forget);
      return subscription;
    },
    /** Moves the readers of a group, or all, to their checkpoints, which may have moved back. */
    relocate: (group?: string): void => {
      for (const subscription of subscriptions) {
        if (group === undefined || group === subscription.group) subscription.relocate();
      }
    },
    async close() {
      closed.abort(new Error('the log was closed'));
      await endsWithin(
        Promise.allSettled([reader.close(), producer.close(), admin.close()]),
        closeMs,
      );
    },
  } satisfies EventLog &
    Record<
      | 'check'
      | 'ready'
      | 'isReachable'
      | 'topicMissing'
      | 'inspect'
      | 'topicSettings'
      | 'relocate'
      | 'startFailure',
      unknown
    >;
};

export type KafkaLog = ReturnType<typeof openKafkaLog>;
