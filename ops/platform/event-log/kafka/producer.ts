import type { Kafka, Message, Producer } from 'kafkajs';
import { retry } from './client.js';
import type { OutgoingRecord } from './records.js';

/** Records in one request at most: large enough to cost little each, small enough to be quick. */
const maxBatch = 2_000;

export interface RecordProducer {
  /**
   * Resolves when all in-sync replicas have the records; those of one call keep their order.
   *
   * @param topic its name in the cluster
   */
  send(topic: string, records: readonly OutgoingRecord[]): Promise<void>;
  close(): Promise<void>;
}

interface Waiting {
  readonly topic: string;
  readonly records: readonly OutgoingRecord[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

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
    retry,
  });
  const queue: Waiting[] = [];
  let connected: Promise<void> | undefined;
  let sending: Promise<void> | undefined;

  const connect = async (): Promise<void> => {
    connected ??= producer.connect();
    try {
      await connected;
    } catch (error) {
      connected = undefined;
      throw error;
    }
  };

  const take = (): Waiting[] => {
    let count = 0;
    let calls = 0;
    for (const { records } of queue) {
      count += records.length;
      if (calls > 0 && count > maxBatch) break;
      calls += 1;
    }
    return queue.splice(0, calls);
  };

  const sendBatch = async (waiting: readonly Waiting[]): Promise<void> => {
    await connect();
    const byTopic = new Map<string, Message[]>();
    for (const { topic, records } of waiting) {
      const messages = byTopic.get(topic);
      if (messages) messages.push(...records);
      else byTopic.set(topic, [...records]);
    }
    await producer.sendBatch({
      acks: -1,
      topicMessages: [...byTopic].map(([topic, messages]) => ({ topic, messages })),
    });
  };

  const drain = async (): Promise<void> => {
    while (queue.length > 0) {
      const waiting = take();
      try {
        await sendBatch(waiting);
        for (const { resolve } of waiting) resolve();
      } catch (error) {
        for (const { reject } of waiting) reject(error);
      }
    }
    sending = undefined;
  };

  return {
    send: (topic, records) =>
      new Promise((resolve, reject) => {
        queue.push({ topic, records, resolve, reject });
        // A turn later, so that what is sent in one turn goes together.
        sending ??= Promise.resolve().then(drain);
      }),
    async close() {
      await sending;
      await producer.disconnect();
    },
  };
};
