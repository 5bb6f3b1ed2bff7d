import type { Kafka, Message, Producer, TopicMessages } from 'kafkajs';
import { createBatcher } from '../../concurrency/batcher.js';
import { requestRetry } from './client.js';
import { ReadyBatch } from './ready-batches.js';
import { recordBatch } from './record-batch.js';
import type { OutgoingRecord } from './records.js';

/**
 * Bytes of a request, which may hold records of several calls: a request costs much more than a record.
 * All of it may go to one partition, whose share must be less than a broker takes (1 MiB by default).
 */
const maxBytes = 768 * 1_024;

interface Share {
  readonly records: readonly OutgoingRecord[];
  readonly bytes: number;
}

/** The records of a call in their order, as many together as one request may have. */
function* sharesOf(records: readonly OutgoingRecord[]): Generator<Share> {
  let share: OutgoingRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = record.key.length + record.value.length;
    if (share.length > 0 && bytes + size > maxBytes) {
      yield { records: share, bytes };
      [share, bytes] = [[], 0];
    }
    share.push(record);
    bytes += size;
  }
  if (share.length > 0) yield { records: share, bytes };
}

export interface RecordProducer {
  /**
   * Resolves when all in-sync replicas have the records; those of one call keep their order, also where
   * they fill several requests: when one fails, those after it are not sent.
   *
   * @param topic its name in the cluster
   */
  send(topic: string, records: readonly OutgoingRecord[]): Promise<void>;
  close(): Promise<void>;
}

interface TopicShare extends Share {
  readonly topic: string;
}

/** One message for each partition: its records in their order, as one batch. */
const batchesOf = (shares: readonly TopicShare[]): TopicMessages[] => {
  const byTopic = new Map<string, Map<number, OutgoingRecord[]>>();
  for (const { topic, records } of shares) {
    const byPartition = byTopic.get(topic) ?? new Map<number, OutgoingRecord[]>();
    byTopic.set(topic, byPartition);
    for (const record of records) {
      const before = byPartition.get(record.partition);
      if (before) before.push(record);
      else byPartition.set(record.partition, [record]);
    }
  }
  const now = Date.now();
  return [...byTopic].map(([topic, byPartition]) => ({
    topic,
    messages: [...byPartition].map(([partition, records]): Message => {
      const batch = new ReadyBatch(recordBatch(records, now));
      return { partition, value: batch as unknown as Buffer };
    }),
  }));
};

/**
 * Sends one request after the other, each with all that waits by then. kafkajs retries a failed
 * request by itself, so a second one in flight could overtake it; its idempotent producer is left
 * off, since it acknowledges records that it never stored when requests overlap.
 */
export const createRecordProducer = (kafka: Kafka): RecordProducer => {
  const producer: Producer = kafka.producer({
    allowAutoTopicCreation: false,
    // Each record comes with its partition.
    createPartitioner:
      () =>
      ({ message }) =>
        message.partition ?? 0,
    idempotent: false,
    maxInFlightRequests: 1,
    retry: requestRetry,
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

  const requests = createBatcher<TopicShare, undefined>({
    maxBatch: maxBytes,
    sizeOf: ({ bytes }) => bytes,
    maxWaiting: Infinity,
    async run(shares) {
      await connect();
      await producer.sendBatch({ acks: -1, topicMessages: batchesOf(shares) });
      return shares.map(() => undefined);
    },
  });
  let last: Promise<unknown> = Promise.resolve();

  return {
    async send(topic, records) {
      for (const share of sharesOf(records)) {
        last = requests.submit({ topic, ...share });
        await last;
      }
    },
    async close() {
      // Its sender gets the failure.
      await last.catch(() => undefined);
      await producer.disconnect();
    },
  };
};
