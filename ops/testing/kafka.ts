import { Kafka, logLevel } from 'kafkajs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger } from '../platform/logging.js';
import { startKafka, type KafkaServer } from '../stack/kafka/index.js';

export interface TestKafka {
  readonly brokers: string;
  /** A test's topics and groups begin with it: the broker is everybody's. */
  readonly prefix: string;
  /** The broker itself, to be killed and restarted; whoever does it leaves it running. */
  readonly server: KafkaServer;
  /** A client of kafkajs that logs nothing. */
  client(): Kafka;
  /** Deletes the topics of this prefix. */
  drop(): Promise<void>;
}

interface TestBroker {
  readonly server: KafkaServer;
  readonly dataDir: string;
}

const logger = createLogger('silent');

// One for all files of a mocha process, and none for a process that needs none.
let starting: Promise<TestBroker> | null = null;
let prefixes = 0;

const start = async (): Promise<TestBroker> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'linklog-test-kafka-'));
  return { dataDir, server: await startKafka({ dataDir, logger, tied: true, brief: true }) };
};

/** For mocha's timeout, where a hook may be the first to start it; the first time ever it is fetched. */
export const kafkaStartMs = 300_000;

/** A part of the one broker, for one test file; `name` is of letters. */
export const testKafka = async (name: string): Promise<TestKafka> => {
  starting ??= start();
  const { server } = await starting;
  prefixes += 1;
  const prefix = `${name}-${prefixes}.`;
  const client = (): Kafka =>
    new Kafka({ brokers: [server.brokers], logLevel: logLevel.NOTHING, clientId: prefix });
  return {
    brokers: server.brokers,
    prefix,
    server,
    client,
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

/** Stops the broker, if any test started it. */
export const stopTestKafka = async (): Promise<void> => {
  if (starting === null) return;
  const { server, dataDir } = await starting;
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
};
