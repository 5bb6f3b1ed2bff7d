import type { Kafka, TopicMessages } from 'kafkajs';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { createBatcher } from '../../concurrency/batcher.js';
import { groupBy } from '../../group-by.js';
import { partitionOf } from '../partition.js';
import { linesIn } from '../lines.js';
import type { NewLines, NewRecord } from '../port.js';
import { ReadyBatch, recordBatch, type OutgoingRecord } from './record-batch.js';
import type { KafkaSettings } from './settings.js';
import { topicIn } from './topics.js';

/**
 * Bytes of a request, which may hold records of several calls: a request costs much more than a record.
 * All of it may go to one partition, whose share must be less than a broker takes (1 MiB by default).
 */
const maxBytes = 768 * 1_024;

/**
 * No retries within kafkajs: it keeps the responses of brokers that have answered, and never sends a partition whose
 * leader has moved to one of them (sendMessages.js, upstream PR 1798), although `send` resolves.
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

const partitionCounts = new Map<TopicName, number>(
  Object.values(topics).map(({ name, partitions }) => [name, partitions]),
);

/** One message for each partition: its records in their order, as one batch. */
const batchesOf = (shares: readonly Share[], settings: KafkaSettings): Promise<TopicMessages[]> => {
  const now = Date.now();
  const { compression } = settings;
  return Promise.all(
    [...groupBy(shares, ({ topic }) => topic)].map(async ([topic, ofTopic]) => {
      const count = partitionCounts.get(topic) ?? 1;
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

/**
 * Sends one request after the other, each with all that waits by then. kafkajs retries a failed
 * request by itself, so a second one in flight could overtake it; its idempotent producer is left
 * off, since it acknowledges records that it never stored when requests overlap.
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
      await producer.sendBatch({ acks: -1, topicMessages: await batchesOf(shares, settings) });
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
