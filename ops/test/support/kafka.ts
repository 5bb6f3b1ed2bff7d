import { Kafka, logLevel } from 'kafkajs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger } from '../../platform/logging.js';
import {
  kafkaVersions,
  startKafka,
  type KafkaServer,
  type KafkaVersion,
} from '../../local/kafka/index.js';
import type { TopicName } from '../../../schemas/events/topics.js';

export interface TestKafka {
  readonly brokers: string;
  /** A test's topics and groups begin with it: the broker is everybody's. */
  readonly prefix: string;
  /** The broker itself, to be killed and restarted; whoever does it leaves it running. */
  readonly server: KafkaServer;
  /** A client of kafkajs that logs nothing. */
  client(): Kafka;
  /** Bytes that a topic of this prefix takes on the broker's disk. */
  bytesOf(topic: TopicName): Promise<number>;
  /** Deletes the topics of this prefix. */
  drop(): Promise<void>;
}

interface TestBroker {
  readonly server: KafkaServer;
  readonly dataDir: string;
}

const logger = createLogger('silent');

// One of a version for all files of a mocha process, and none for a process that needs none.
const brokers = new Map<KafkaVersion, Promise<TestBroker>>();
let prefixes = 0;

const start = async (version: KafkaVersion): Promise<TestBroker> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'linklog-test-kafka-'));
  return {
    dataDir,
    server: await startKafka({ dataDir, logger, version, tied: true, brief: true }),
  };
};

const brokerOf = (version: KafkaVersion): Promise<TestBroker> => {
  const known = brokers.get(version);
  if (known) return known;
  const starting = start(version);
  brokers.set(version, starting);
  return starting;
};

/** Bytes of the segments of a topic, without their indexes, which are made in advance. */
export const bytesOfTopic = async (dataDir: string, topic: string): Promise<number> => {
  const files = (await readdir(dataDir, { recursive: true })).filter(
    (file) => file.includes(`${topic}-`) && file.endsWith('.log'),
  );
  const sizes = await Promise.all(files.map((file) => stat(path.join(dataDir, file))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
};

/** For mocha's timeout, where a hook may be the first to start it; the first time ever it is fetched. */
export const kafkaStartMs = 300_000;

/** A part of the one broker, for one test file; `name` is of letters and digits. */
export const testKafka = async (
  name: string,
  version: KafkaVersion = kafkaVersions[0],
): Promise<TestKafka> => {
  const { server, dataDir } = await brokerOf(version);
  prefixes += 1;
  const prefix = `${name}-${prefixes}.`;
  const client = (): Kafka =>
    new Kafka({ brokers: [server.brokers], logLevel: logLevel.NOTHING, clientId: prefix });
  return {
    brokers: server.brokers,
    prefix,
    server,
    client,
    bytesOf: (topic) => bytesOfTopic(dataDir, `${prefix}${topic}`),
    async drop() {
      const admin = client().admin();
      await admin.connect();
      try {
        const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
        if (topics.length > 0) await admin.deleteTopics({ topics });
      } finally {
        await admin.disconnect();
      }
    },
  };
};

/** Stops the brokers that tests started, if any did. */
export const stopTestKafka = async (): Promise<void> => {
  for (const starting of brokers.values()) {
    const { server, dataDir } = await starting;
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
};
