import type { Kafka, RecordMetadata, TopicMessages } from 'kafkajs';
import { partitionCountOf, type TopicName } from '../../../schemas/events/topics.js';
import { createBatcher } from '../../platform/concurrency/batcher.js';
import { groupBy } from '../../platform/collections.js';
import { partitionOf } from '../partition.js';
import { linesIn } from '../lines.js';
import type { NewLines, NewRecord } from '../port.js';
import { ReadyBatch, recordBatch, type OutgoingRecord } from './record-batch.js';
import type { KafkaSettings } from './settings.js';
import { topicIn } from './topics.js';

/**
 * Bytes of a request, which may contain records of several calls. All of them may be of one partition, whose batch must be
 * below the limit of a broker (1 MiB by default).
 */
const maxBytes = 768 * 1_024;

/**
 * Relay and shipper retry instead. A retry of kafkajs (2.2.4) does not send a partition whose leader moves to a broker that
 * has already responded, and resolves (`producer/sendMessages.js`; https://github.com/tulios/kafkajs/pull/1798).
 */
const producerRetry = { retries: 0 } as const;

/**
 * Maximum age of metadata (ms). kafkajs does not refresh it after a timeout, and would send to a broker that hangs for up to
 * 5 minutes, although its partitions have new leaders.
 */
const metadataMaxAge = 1_000;

/**
 * How long the requests of a partition are separate after a failure (ms): a request fails as a whole if the leader of one
 * of its partitions is unavailable.
 */
const separateMs = 10_000;

interface Share {
  readonly topic: TopicName;
  readonly records: OutgoingRecord[];
  readonly bytes: number;
}

function* outgoing(records: readonly (NewRecord | NewLines)[]): Generator<OutgoingRecord> {
  for (const record of records) {
    if ('lines' in record) yield* linesIn(record);
    else yield { key: Buffer.from(record.key), value: Buffer.from(record.value) };
  }
}

/** Splits the records of a call into requests. */
function* sharesOf(topic: TopicName, input: readonly (NewRecord | NewLines)[]): Generator<Share> {
  let records: OutgoingRecord[] = [];
  let bytes = 0;
  for (const record of outgoing(input)) {
    const size = record.key.length + record.value.length;
    if (records.length > 0 && bytes + size > maxBytes) {
      yield { topic, records, bytes };
      [records, bytes] = [[], 0];
    }
    records.push(record);
    bytes += size;
  }
  if (records.length > 0) yield { topic, records, bytes };
}

/** Encodes one batch for each partition. */
const batchesOf = (shares: readonly Share[], settings: KafkaSettings): Promise<TopicMessages[]> => {
  const now = Date.now();
  const { compression } = settings;
  return Promise.all(
    [...groupBy(shares, ({ topic }) => topic)].map(async ([topic, sharesOfTopic]) => {
      const count = partitionCountOf(topic);
      const records = sharesOfTopic.flatMap((share) => share.records);
      const byPartition = groupBy(records, ({ key }) => partitionOf(key, count));
      const messages = await Promise.all(
        [...byPartition].map(async ([partition, partitionRecords]) => {
          const batch = await recordBatch(partitionRecords, { now, compression });
          return { partition, value: new ReadyBatch(batch) as unknown as Buffer };
        }),
      );
      return { topic: topicIn(settings, topic), messages };
    }),
  );
};

/** `send` resolved without the acknowledgement of a partition. */
export class NotAcknowledged extends Error {
  readonly code = 'NOT_ACKNOWLEDGED';

  constructor(partitions: readonly string[]) {
    super(`kafka acknowledged the request without ${partitions.join(', ')}`);
  }
}

const nameOf = (topic: string, partition: number | undefined): string => `${topic}[${partition}]`;

/** @throws NotAcknowledged */
const requireAcknowledgements = (
  sent: readonly TopicMessages[],
  acknowledged: readonly RecordMetadata[],
): void => {
  const stored = new Set(
    acknowledged
      .filter(({ errorCode }) => errorCode === 0)
      .map(({ topicName, partition }) => nameOf(topicName, partition)),
  );
  const missing = sent
    .flatMap(({ topic, messages }) => messages.map(({ partition }) => nameOf(topic, partition)))
    .filter((name) => !stored.has(name));
  if (missing.length > 0) throw new NotAcknowledged(missing);
};

/**
 * Sends one request at a time, with all waiting records; after a failure, one at a time for each partition. The producer is not idempotent, because the idempotent producer of
 * kafkajs acknowledges records without storing them when requests overlap.
 */
export const createRecordProducer = (kafka: Kafka, settings: KafkaSettings) => {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    // Each message has a partition.
    createPartitioner:
      () =>
      ({ message }) =>
        message.partition ?? 0,
    idempotent: false,
    maxInFlightRequests: 1,
    metadataMaxAge,
    retry: producerRetry,
  });
  let connected: Promise<void> | undefined;

  const connect = async (): Promise<void> => {
    connected ??= producer.connect();
    try {
      await connected;
    } catch (error) {
      connected = undefined;
      throw error;
    }
  };

  let failedAt = -Infinity;
  const run = async (shares: readonly Share[]): Promise<readonly undefined[]> => {
    try {
      await connect();
      const topicMessages = await batchesOf(shares, settings);
      const acknowledged = await producer.sendBatch({ acks: -1, topicMessages });
      requireAcknowledgements(topicMessages, acknowledged);
      return shares.map(() => undefined);
    } catch (error) {
      failedAt = performance.now();
      throw error;
    }
  };
  const createRequests = () =>
    createBatcher<Share, undefined>({
      maxBatch: maxBytes,
      sizeOf: ({ bytes }) => bytes,
      maxWaiting: Infinity,
      run,
    });
  const joint = createRequests();
  const separate = new Map<string, typeof joint>();

  const requestsFor = ({ topic, records }: Share): typeof joint => {
    if (performance.now() - failedAt > separateMs) return joint;
    const count = partitionCountOf(topic);
    const [partition, ...others] = new Set(records.map(({ key }) => partitionOf(key, count)));
    if (others.length > 0) return joint;
    const name = nameOf(topic, partition);
    const requests = separate.get(name) ?? createRequests();
    separate.set(name, requests);
    return requests;
  };
  const inFlight = new Set<Promise<unknown>>();

  return {
    /** Resolves when all in-sync replicas have the records. If a request fails, the later ones of the call are not sent. */
    async send(topic: TopicName, records: readonly (NewRecord | NewLines)[]): Promise<void> {
      for (const share of sharesOf(topic, records)) {
        const stored = requestsFor(share).submit(share);
        inFlight.add(stored);
        await stored.finally(() => inFlight.delete(stored));
      }
    },
    async close(): Promise<void> {
      // `send` throws the errors.
      await Promise.allSettled(inFlight);
      await producer.disconnect();
    },
  };
};
