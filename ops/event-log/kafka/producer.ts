import type { Kafka, RecordMetadata, TopicMessages } from 'kafkajs';
import type { TopicName } from '../../../schemas/events/topics.js';
import { createBatcher } from '../../platform/concurrency/batcher.js';
import { groupBy } from '../../platform/group-by.js';
import { partitionOf } from '../partition.js';
import { linesIn } from '../lines.js';
import type { NewLines, NewRecord } from '../port.js';
import { ReadyBatch, recordBatch, type OutgoingRecord } from './record-batch.js';
import type { KafkaSettings } from './settings.js';
import { partitionCountOf, topicIn } from './topics.js';

/**
 * Bytes of a request, which may hold records of several calls: a request costs much more than a record.
 * All of it may go to one partition, whose share must be less than a broker takes (1 MiB by default).
 */
const maxBytes = 768 * 1_024;

/**
 * The producer sends every request once. A retry of kafkajs (2.2.4) keeps the responses of the brokers that have
 * answered: a partition whose leader moves to one of these brokers is never sent again, and `send` resolves
 * (`producer/sendMessages.js`; https://github.com/tulios/kafkajs/pull/1798). Relay and shipper retry instead.
 */
const producerRetry = { retries: 0 } as const;

/**
 * How old the known leaders may be, in milliseconds. kafkajs asks for them again after errors of the protocol and of
 * connections, and not after a request that timed out: for up to 5 minutes it would send to a broker that hangs and
 * whose partitions have other leaders by now.
 */
const metadataMaxAge = 1_000;

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

/** The records of a call in their order, as many together as one request may have. */
function* sharesOf(topic: TopicName, all: readonly (NewRecord | NewLines)[]): Generator<Share> {
  let records: OutgoingRecord[] = [];
  let bytes = 0;
  for (const record of outgoing(all)) {
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

/** One message for each partition: its records in their order, as one batch. */
const batchesOf = (shares: readonly Share[], settings: KafkaSettings): Promise<TopicMessages[]> => {
  const now = Date.now();
  const { compression } = settings;
  return Promise.all(
    [...groupBy(shares, ({ topic }) => topic)].map(async ([topic, ofTopic]) => {
      const count = partitionCountOf(topic);
      const records = ofTopic.flatMap((share) => share.records);
      const byPartition = groupBy(records, ({ key }) => partitionOf(key, count));
      const messages = await Promise.all(
        [...byPartition].map(async ([partition, ofPartition]) => {
          const batch = await recordBatch(ofPartition, { now, compression });
          return { partition, value: new ReadyBatch(batch) as unknown as Buffer };
        }),
      );
      return { topic: topicIn(settings, topic), messages };
    }),
  );
};

/** `send` of kafkajs resolved, and a partition of the request was not acknowledged. */
export class NotAcknowledged extends Error {
  readonly code = 'NOT_ACKNOWLEDGED';

  constructor(partitions: readonly string[]) {
    super(`Kafka acknowledged the request without ${partitions.join(', ')}`);
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
 * Sends one request at a time, with all records that wait by then. The idempotent producer of kafkajs is off: it
 * acknowledges records that it never stored when requests overlap.
 */
export const createRecordProducer = (kafka: Kafka, settings: KafkaSettings) => {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    // Each record comes with its partition.
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

  const requests = createBatcher<Share, undefined>({
    maxBatch: maxBytes,
    sizeOf: ({ bytes }) => bytes,
    maxWaiting: Infinity,
    async run(shares) {
      await connect();
      const topicMessages = await batchesOf(shares, settings);
      const acknowledged = await producer.sendBatch({ acks: -1, topicMessages });
      requireAcknowledgements(topicMessages, acknowledged);
      return shares.map(() => undefined);
    },
  });
  let last: Promise<unknown> = Promise.resolve();

  return {
    /**
     * Resolves when all in-sync replicas have the records; those of one call keep their order, also
     * where they fill several requests: when one fails, those after it are not sent.
     */
    async send(topic: TopicName, records: readonly (NewRecord | NewLines)[]): Promise<void> {
      for (const share of sharesOf(topic, records)) {
        last = requests.submit(share);
        await last;
      }
    },
    async close(): Promise<void> {
      // Its sender gets the failure.
      await last.catch(() => undefined);
      await producer.disconnect();
    },
  };
};
