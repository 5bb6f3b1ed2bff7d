import type { Cluster, Kafka, KafkaMessage } from 'kafkajs';
import type { TopicName } from '../../../schemas/events/topics.js';
import { BoundedMap } from '../../platform/collections.js';
import type { Batch } from '../port.js';
import { createBrokerConnection } from './connections.js';
import { logRecordOf, maxBytesPerPartition } from './group-member.js';
import type { KafkaSettings } from './settings.js';
import { topicIn } from './topics.js';

/** Records of a batch. */
const batchSize = 1_000;
/** Partitions whose last fetch is cached: some 1.3 MB each, or one larger batch. */
const maxCached = 16;
/** How long a broker waits for a record that exists, but is not known to it yet (ms). */
const maxWaitTime = 100;

/** The part of a response to a fetch of one partition. kafkajs throws its error codes. */
interface Fetched {
  readonly responses: readonly {
    readonly partitions: readonly { readonly messages: readonly KafkaMessage[] }[];
  }[];
}

/** The record at an offset, and some after it. @throws Error, which is retriable if there is none */
const fetch = async (
  cluster: Cluster,
  topic: string,
  partition: number,
  offset: number,
): Promise<Batch['records']> => {
  await cluster.addTargetTopic(topic);
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
  const broker = await cluster.findBroker({ nodeId: nodeId ?? '' });
  const request = { partition, fetchOffset: String(offset), maxBytes: maxBytesPerPartition };
  const { responses } = (await broker.fetch({
    ...{ maxWaitTime, maxBytes: maxBytesPerPartition, topics: [{ topic, partitions: [request] }] },
  })) as Fetched;
  const messages = responses.flatMap(({ partitions }) =>
    partitions.flatMap((fetched) => fetched.messages),
  );
  // A compressed batch may begin before the offset.
  const records = messages.map(logRecordOf).filter((record) => record.offset >= offset);
  if (records[0]?.offset === offset) return records;
  const error = new Error(`${topic}/${partition} has no record at ${offset}`);
  throw Object.assign(error, { retriable: records.length === 0 });
};

/** Reads ranges of partitions from their leaders. kafkajs has no consumer without a group. */
export const createPartitionReader = (kafka: Kafka, settings: KafkaSettings) => {
  const connection = createBrokerConnection(kafka);
  /** The last fetch of a partition, by name and partition: followers read it in portions. */
  const lastFetched = new BoundedMap<string, Batch['records']>(maxCached);
  async function* read(
    topic: TopicName,
    partition: number,
    from: number,
    to: number,
  ): AsyncGenerator<Batch> {
    const name = topicIn(settings, topic);
    const key = `${name}/${partition}`;
    for (let next = from; next < to;) {
      const offset = next;
      const cached = lastFetched.get(key) ?? [];
      // A record keeps its offset.
      const first = cached.findIndex((record) => record.offset === offset);
      const fetched =
        first >= 0
          ? cached.slice(first)
          : await connection.run((cluster) => fetch(cluster, name, partition, offset));
      if (first < 0) lastFetched.set(key, fetched);
      const end = Math.min(fetched.length, to - next, batchSize);
      next += end;
      yield { topic, partition, records: fetched.slice(0, end) };
    }
  }

  return { read, close: () => connection.close() };
};
