/**
 * Lets kafkajs (2.2.4) send record batches that are encoded already: for the one version of the
 * Produce request that is used with every broker since Kafka 2.1. Retries, leaders and connections
 * stay kafkajs's own.
 */
import { createRequire } from 'node:module';

/** Stands for all records of a partition where kafkajs has one message's value. */
export class ReadyBatch {
  constructor(readonly bytes: Buffer) {}
}

interface Encoder {
  writeString(value: string | null): Encoder;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  /** With its length before it. */
  writeBytes(value: Buffer): Encoder;
}

interface Produce {
  readonly acks: number;
  readonly timeout: number;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly messages: readonly { readonly value: unknown }[];
    }[];
  }[];
}

type ProduceRequest = (produce: Produce) => { readonly encode: () => Promise<Encoder> };

const load = createRequire(import.meta.url);
const NewEncoder = load('kafkajs/src/protocol/encoder.js') as new (bytes: number) => Encoder;
const file = load.resolve('kafkajs/src/protocol/requests/produce/v7/request.js');
const installed = Symbol.for('linklog.ready-batches');
const roomBytes = 1_024 * 1_024;

const encode = ({ acks, timeout, topicData }: Produce): Encoder => {
  const request = new NewEncoder(roomBytes)
    .writeString(null)
    .writeInt16(acks)
    .writeInt32(timeout)
    .writeInt32(topicData.length);
  for (const { topic, partitions } of topicData) {
    request.writeString(topic).writeInt32(partitions.length);
    for (const { partition, messages } of partitions) {
      const value = messages[0]?.value;
      if (messages.length !== 1 || !(value instanceof ReadyBatch)) {
        throw new Error('A partition has one batch in a request, and nothing else');
      }
      request.writeInt32(partition).writeBytes(value.bytes);
    }
  }
  return request;
};

const isReady = ({ topicData }: Produce): boolean =>
  topicData.every(({ partitions }) =>
    partitions.every(({ messages }) => messages.every(({ value }) => value instanceof ReadyBatch)),
  );

/**
 * Patches the request in this thread, once. Other producers' requests stay as they are. For a broker
 * that needs an older request, the encoder throws.
 */
export const sendReadyBatches = (): void => {
  if (installed in globalThis) return;
  const original = load(file) as ProduceRequest;
  const entry = load.cache[file];
  if (typeof original !== 'function' || !entry) throw new Error('kafkajs has no Produce version 7');
  const request: ProduceRequest = (produce) => {
    const known = original(produce);
    if (!isReady(produce)) return known;
    return { ...known, encode: () => Promise.resolve(encode(produce)) };
  };
  entry.exports = request;
  Object.defineProperty(globalThis, installed, { value: true });
};
