import type { ISocketFactory } from 'kafkajs';
import { topicNames, topics, type TopicName } from '../../../../schemas/events/topics.js';
import { settledWithin } from '../../concurrency/deferred.js';
import { retry } from '../../concurrency/retry.js';
import type { Logger } from '../../logging.js';
import type { EventLog, PartitionRange } from '../port.js';
import { createClusterAdmin } from './admin.js';
import { createKafkaClient } from './client.js';
import { createFailureLog, kafkaFailure, type KafkaFailure } from './failures.js';
import { createPartitionReader } from './partition-reader.js';
import { createRecordProducer } from './producer.js';
import type { KafkaSettings } from './settings.js';
import { startKafkaSubscription } from './subscription.js';
import { ensureTopics, partitionCountOf, TopicDiffers, topicIn } from './topics.js';

const pauses = { firstMs: 100, longestMs: 2_000 };
const closeMs = 3_000;
/**
 * How long a failed append counts in the health check, unless a later one succeeds (ms). The relay and the
 * shipper of visits retry more often than that.
 */
const appendFailureMs = 30_000;

/** The log on a Kafka cluster, which may be away when it is opened. */
export const openKafkaLog = (options: {
  readonly settings: KafkaSettings;
  readonly logger: Logger;
  /** Called with the cluster's name for this log before the first write; its failure is final. */
  readonly bindToLog?: (logName: string) => Promise<void>;
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

  const endsOf = async (topic: TopicName): Promise<readonly PartitionRange[]> => {
    const name = topicIn(settings, topic);
    const offsets = await admin.ask((asked) => asked.fetchTopicOffsets(name));
    // kafkajs leaves out partitions that its metadata does not list.
    const expected = partitionCountOf(topic);
    if (offsets.length !== expected) {
      throw new Error(`Kafka listed ${offsets.length} of ${expected} partitions of ${name}`);
    }
    return offsets
      .map(({ partition, low, high }) => ({ partition, first: Number(low), next: Number(high) }))
      .sort((a, b) => a.partition - b.partition);
  };

  const connect = async (): Promise<string> => {
    await admin.ask((asked) => ensureTopics(asked, settings));
    // The leaders of new partitions need a moment to know that they are.
    for (const topic of topicNames) await endsOf(topic);
    return (await admin.ask((asked) => asked.describeCluster())).clusterId;
  };

  const untilReady = async (): Promise<void> => {
    clusterId = await retry(connect, {
      pauses,
      signal: closed.signal,
      isRetryable: (error) => !(error instanceof TopicDiffers),
      onFailure(error) {
        startFailure = kafkaFailure(error);
        logFailure(startFailure);
      },
    });
    startFailure = null;
    await options.bindToLog?.(`kafka:${clusterId}:${settings.prefix}`);
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
     * again. Rejects with `TopicDiffers`, and when the log is closed before.
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
      await settledWithin(Promise.allSettled([reading, producer.close()]), closeMs);
    },
  } satisfies EventLog & Record<'check' | 'ready' | 'relocate' | 'startFailure', unknown>;
};

export type KafkaLog = ReturnType<typeof openKafkaLog>;
