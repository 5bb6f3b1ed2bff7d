import type { ISocketFactory } from 'kafkajs';
import { topicNames, topics, type TopicName } from '../../../schemas/events/topics.js';
import { endsWithin } from '../../platform/concurrency/deadline.js';
import { deferred } from '../../platform/concurrency/deferred.js';
import { retry } from '../../platform/concurrency/retry.js';
import type { Logger } from '../../platform/logging.js';
import { ForeignLog } from '../log-binding.js';
import type { EventLog, PartitionRange } from '../port.js';
import { createClusterAdmin } from './admin.js';
import { createKafkaClient } from './client.js';
import { createFailureLog, kafkaFailure, type KafkaFailure } from './failures.js';
import { createPartitionReader } from './partition-reader.js';
import { createRecordProducer } from './producer.js';
import type { KafkaSettings } from './settings.js';
import { startKafkaSubscription } from './subscription.js';
import { TopicMissing, type TopicState } from './log-faults.js';
import {
  countPartitions,
  ensureTopics,
  partitionCountOf,
  TopicDiffers,
  topicIn,
} from './topics.js';

const pauses = { firstMs: 100, longestMs: 2_000 };
const closeMs = 3_000;
/**
 * How long a failed append counts in the health check, unless a later one succeeds (ms). The relay and the
 * shipper of visits retry more often than that.
 */
const appendFailureMs = 30_000;
/** Failed attempts after which a topic counts as missing: a broker may not know a new topic yet. */
const missingAfter = 4;

/** What the database of an installation knows of its log. */
export interface LogBinding {
  /**
   * The topics that an earlier start has created in the log of this name.
   *
   * @throws ForeignLog
   */
  createdTopics(logName: string): Promise<ReadonlySet<TopicName>>;
  /** Called before the first write. @throws ForeignLog */
  bind(logName: string): Promise<void>;
}

/** The log on a Kafka cluster, which may be away when it is opened. */
export const openKafkaLog = (options: {
  readonly settings: KafkaSettings;
  readonly logger: Logger;
  readonly binding?: LogBinding;
  /** How sockets are made, for tests that cut them. */
  readonly socketFactory?: ISocketFactory;
}) => {
  const { settings, logger } = options;
  const kafka = createKafkaClient(settings, logger, options.socketFactory);
  const closed = new AbortController();
  const admin = createClusterAdmin(kafka);
  const producer = createRecordProducer(kafka, settings);
  const reader = createPartitionReader(kafka, settings, admin);
  let clusterId: string | undefined;
  /** Why the log is not ready yet; `null`: it is, or nothing has failed yet. */
  let startFailure: KafkaFailure | null = null;
  let appendFailure: { readonly error: unknown; readonly at: number } | null = null;
  const logFailure = createFailureLog(logger);
  const subscriptions = new Set<ReturnType<typeof startKafkaSubscription>>();

  /** The topics whose absence is a fault: those that a first start has yet to create are not. */
  let expected: ReadonlySet<TopicName> = new Set();

  /** With the partitions that an operator has added, as far as kafkajs knows of them. */
  const allEndsOf = async (topic: TopicName): Promise<readonly PartitionRange[]> => {
    const offsets = await admin.ask((asked) => asked.fetchTopicOffsets(topicIn(settings, topic)));
    return offsets
      .map(({ partition, low, high }) => ({ partition, first: Number(low), next: Number(high) }))
      .sort((a, b) => a.partition - b.partition);
  };

  const endsOf = async (topic: TopicName): Promise<readonly PartitionRange[]> => {
    const count = partitionCountOf(topic);
    const ends = await allEndsOf(topic);
    // kafkajs leaves out partitions that its metadata does not list.
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
    // kafkajs keeps what it knows of the cluster for five minutes.
    await admin.close();
    return { topic, name, partitions: await allEndsOf(topic) };
  };

  const connect = async (): Promise<string> => {
    const id = (await admin.ask((asked) => asked.describeCluster())).clusterId;
    const logName = `kafka:${id}:${settings.prefix}`;
    expected = (await options.binding?.createdTopics(logName)) ?? new Set();
    await admin.ask((asked) => ensureTopics(asked, settings, expected));
    // The leaders of new partitions need a moment to know that they are.
    for (const topic of topicNames) await endsOf(topic);
    await options.binding?.bind(logName);
    expected = new Set(topicNames);
    return id;
  };

  const topicMissing = deferred<never>();
  // Callers may await it, and need not.
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
  // Callers that need the cluster await it, and get its failure.
  ready.catch(() => undefined);

  const logId = (topic: TopicName): string => {
    if (clusterId === undefined) throw new Error('Kafka was not reached yet');
    return `kafka:${clusterId}:${topicIn(settings, topic)}`;
  };

  const ranges = async (topic: TopicName): Promise<readonly PartitionRange[]> => {
    await ready;
    return endsOf(topic);
  };

  return {
    /**
     * Resolves when the cluster answers and its topics are as they must be; until then the log tries
     * again. Rejects with `TopicDiffers` and `ForeignLog`, and when the log is closed before.
     */
    ready,
    /** Why the log is not ready; `null`: it is ready, or has not failed yet. */
    startFailure: () => startFailure,
    /**
     * Whether the log can be read and written now.
     *
     * @throws KafkaFailure
     */
    async check(): Promise<void> {
      if (startFailure) throw startFailure;
      if (appendFailure && performance.now() - appendFailure.at < appendFailureMs) {
        throw kafkaFailure(appendFailure.error);
      }
      try {
        await ranges(topics.platform.name);
      } catch (error) {
        throw kafkaFailure(error);
      }
    },
    /** Never resolves; rejects with `TopicMissing` while `ready` waits for a topic that was deleted. */
    topicMissing: topicMissing.promise,
    /** The topics as they are now, without those that are yet to be created. Does not wait for `ready`. */
    async inspect(): Promise<readonly TopicState[]> {
      const found = await admin.ask((asked) => countPartitions(asked, settings));
      const states: TopicState[] = [];
      for (const [topic, count] of found) {
        if (count !== null || expected.has(topic)) states.push(await inspectTopic(topic, count));
      }
      return states;
    },
    logId,
    mayRepeatLedger: true,
    ranges,
    async append(topic, records) {
      if (records.length === 0) return;
      await ready;
      try {
        await producer.send(topic, records);
        appendFailure = null;
      } catch (error) {
        appendFailure = { error, at: performance.now() };
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
    /** Every reader goes on from its checkpoints, which may have gone back. */
    relocate() {
      for (const subscription of subscriptions) subscription.relocate();
    },
    async close() {
      closed.abort(new Error('The log was closed'));
      // The reader's end asks the admin, which would connect again.
      const reading = reader.close().finally(() => admin.close());
      // A cluster that is away does not answer.
      await endsWithin(Promise.allSettled([reading, producer.close()]), closeMs);
    },
  } satisfies EventLog &
    Record<'check' | 'ready' | 'topicMissing' | 'inspect' | 'relocate' | 'startFailure', unknown>;
};

export type KafkaLog = ReturnType<typeof openKafkaLog>;
