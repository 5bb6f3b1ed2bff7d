import { Kafka, logLevel } from 'kafkajs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { atEnd } from './at-end.js';
import { createLogger } from '../../platform/logging.js';
import {
  kafkaVersions,
  startKafkaCluster,
  type KafkaServer,
  type KafkaVersion,
} from '../../local/kafka/index.js';
import type { TopicName } from '../../../schemas/events/topics.js';

export interface TestKafka {
  readonly brokers: string;
  /** The prefix of the topics and groups of a test: the broker is shared. */
  readonly prefix: string;
  /** A client of kafkajs without log lines. */
  client(): Kafka;
  /** Bytes of a topic of this prefix on the disk of the broker. */
  bytesOf(topic: TopicName): Promise<number>;
  /** Deletes the topics of this prefix. */
  drop(): Promise<void>;
}

/** A broker that only this mocha process uses. */
interface DedicatedKafka extends TestKafka {
  /** The broker. A test that stops it must restart it. */
  readonly server: KafkaServer;
}

interface TestBroker {
  readonly server: KafkaServer;
  readonly dataDir: string;
}

const logger = createLogger('silent');

/** The environment variable with the broker of `startSharedKafka`. */
export const sharedKafkaVariable = 'LINKLOG_TEST_KAFKA';

const sharedBroker = z.object({ brokers: z.string(), dataDir: z.string() });

// Shared by all files of a mocha process, by version.
const ownBrokers = new Map<KafkaVersion, Promise<TestBroker>>();
let prefixes = 0;

type ClusterOptions = Parameters<typeof startKafkaCluster>[0];

/** Starts a cluster of one broker, which ends with this process. */
export const startKafka = async (
  broker: ClusterOptions['brokers'][number],
  version: KafkaVersion = kafkaVersions[0],
): Promise<KafkaServer> => {
  const options = { brokers: [broker], logger, version, tied: true, brief: true };
  const [server] = await startKafkaCluster(options);
  if (server === undefined) throw new Error('startKafkaCluster() returned 0 servers for 1 broker');
  return server;
};

const start = async (version: KafkaVersion): Promise<TestBroker> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'linklog-test-kafka-'));
  return {
    dataDir,
    server: await startKafka({ dataDir }, version),
  };
};

const stop = async ({ server, dataDir }: TestBroker): Promise<void> => {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
};

/**
 * Starts a broker for several mocha processes: a start needs 10 s of CPU time.
 *
 * @returns `value` for `sharedKafkaVariable`
 */
export const startSharedKafka = async (): Promise<{
  readonly value: string;
  stop(): Promise<void>;
}> => {
  const broker = await start(kafkaVersions[0]);
  const { server, dataDir } = broker;
  return {
    value: JSON.stringify({ brokers: server.brokers, dataDir }),
    stop: () => stop(broker),
  };
};

const ownBrokerOf = (version: KafkaVersion): Promise<TestBroker> => {
  const known = ownBrokers.get(version);
  if (known) return known;
  const starting = start(version);
  ownBrokers.set(version, starting);
  atEnd(async () => stop(await starting));
  return starting;
};

/** Bytes of the segments of a topic, without their preallocated indexes. */
const bytesOfTopic = async (dataDir: string, topic: string): Promise<number> => {
  const files = (await readdir(dataDir, { recursive: true })).filter(
    (file) => file.includes(`${topic}-`) && file.endsWith('.log'),
  );
  const sizes = await Promise.all(files.map((file) => stat(path.join(dataDir, file))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
};

/** The programs that start a broker. */
export const kafkaPrograms = ['java', 'mvn'];

/** Timeout of mocha for a hook that may start Kafka, and download it first. */
export const kafkaStartMs = 300_000;

const connectTo = (name: string, { brokers, dataDir }: z.infer<typeof sharedBroker>): TestKafka => {
  prefixes += 1;
  const prefix = `${name}-${process.pid}-${prefixes}.`;
  const client = (): Kafka =>
    new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING, clientId: prefix });
  return {
    brokers,
    prefix,
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

/** A prefix on a broker that only this mocha process uses: tests may stop the broker. */
export const dedicatedKafka = async (
  name: string,
  version: KafkaVersion = kafkaVersions[0],
): Promise<DedicatedKafka> => {
  const { server, dataDir } = await ownBrokerOf(version);
  return { ...connectTo(name, { brokers: server.brokers, dataDir }), server };
};

/** A prefix on the shared broker, for one test file; `name` consists of letters and digits. */
export const testKafka = async (name: string, version?: KafkaVersion): Promise<TestKafka> => {
  const shared = process.env[sharedKafkaVariable];
  if (shared === undefined || (version !== undefined && version !== kafkaVersions[0])) {
    return dedicatedKafka(name, version);
  }
  return connectTo(name, sharedBroker.parse(JSON.parse(shared)));
};
