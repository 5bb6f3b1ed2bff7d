/** ElectLeaders of the Kafka protocol, which kafkajs lacks, and whose command is not in the broker's jars. */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { groupBy } from '../../platform/group-by.js';
import { within } from '../support/waiting.js';

const responseWithinMs = 10_000;

interface TopicPartition {
  readonly topic: string;
  readonly partitionId: number;
}

interface Encoder {
  readonly buffer: Buffer;
  writeInt8(value: number): Encoder;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeString(value: string): Encoder;
  writeBytes(value: Buffer): Encoder;
  writeArray(values: readonly unknown[]): Encoder;
}

interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readString(): string | null;
  readArray<Item>(read: (decoder: Decoder) => Item): Item[];
}

const load = createRequire(import.meta.url);
const NewEncoder = load('kafkajs/src/protocol/encoder.js') as new () => Encoder;
const NewDecoder = load('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => Decoder;

const electLeaders = { key: 43, version: 1 };
const preferred = 0;
const electionNotNeeded = 84;

const electionRequest = (partitions: readonly TopicPartition[]): Buffer => {
  const topics = [...groupBy(partitions, ({ topic }) => topic)].map(([topic, ofTopic]) =>
    new NewEncoder().writeString(topic).writeArray(ofTopic.map(({ partitionId }) => partitionId)),
  );
  const { key, version } = electLeaders;
  const { buffer } = new NewEncoder()
    .writeInt16(key)
    .writeInt16(version)
    .writeInt32(1) // The correlation id.
    .writeString('chaos')
    .writeInt8(preferred)
    .writeArray(topics)
    .writeInt32(responseWithinMs);
  return new NewEncoder().writeBytes(buffer).buffer;
};

/** Sends a request of the Kafka protocol. @returns the response without size and correlation id */
const exchange = async (broker: string, request: Buffer): Promise<Buffer> => {
  const { hostname, port } = new URL(`kafka://${broker}`);
  const socket = connect(Number(port), hostname);
  try {
    socket.write(request);
    let received = Buffer.alloc(0);
    while (received.length < 4 || received.length < 4 + received.readInt32BE(0)) {
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      received = Buffer.concat([received, chunk]);
    }
    return received.subarray(8);
  } finally {
    socket.destroy();
  }
};

/** Elects the first replica of each partition as its leader, if it is in sync. */
export const electPreferredLeaders = async (
  broker: string,
  partitions: readonly TopicPartition[],
): Promise<void> => {
  const response = exchange(broker, electionRequest(partitions));
  const decoder = new NewDecoder(
    await within(responseWithinMs, 'Kafka elected no leaders', response),
  );
  decoder.readInt32(); // The throttle time.
  const failure = decoder.readInt16();
  const results = decoder.readArray((topic) => {
    topic.readString();
    return topic.readArray((partition) => {
      partition.readInt32();
      const code = partition.readInt16();
      partition.readString();
      return code;
    });
  });
  const unexpected = [failure, ...results.flat()].find(
    (code) => code !== 0 && code !== electionNotNeeded,
  );
  if (unexpected !== undefined) {
    throw new Error(`Kafka returned error code ${unexpected} for an election`);
  }
};
