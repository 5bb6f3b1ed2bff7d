import { expect } from 'chai';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createLogger } from '../../platform/logging.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { kafkaPrograms, kafkaStartMs } from '../../test/support/kafka.js';
import { needs } from '../../test/support/needs.js';
import { eventually } from '../../test/support/waiting.js';
import { kafkaVersions, startKafka, type KafkaOptions, type KafkaServer } from './index.js';

const logger = createLogger('silent');

const client = ({ brokers }: KafkaServer): Kafka =>
  // More than the default of 5 retries, because a starting broker rejects groups.
  new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING, retry: { retries: 30 } });

const send = async (server: KafkaServer, topic: string, value: string): Promise<void> => {
  const kafka = client(server);
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  await producer.send({ topic, acks: -1, messages: [{ key: 'k', value }] });
  await producer.disconnect();
};

/** Reads the first value of a topic with a new group. */
const receive = async (server: KafkaServer, topic: string): Promise<string | undefined> => {
  const consumer = client(server).consumer({ groupId: randomUUID() });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const value = await new Promise<string | undefined>((resolve, reject) => {
    consumer
      .run({
        eachMessage: ({ message }) => {
          resolve(message.value?.toString());
          return Promise.resolve();
        },
      })
      .catch(reject);
  });
  await consumer.disconnect();
  return value;
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

describe('local servers: Kafka as a child process', function () {
  // Kafka may have to be downloaded first.
  this.timeout(kafkaStartMs);

  needs(...kafkaPrograms);
  const dir = folderFixture({ per: 'test' });
  const servers: KafkaServer[] = [];

  const start = async (
    name = 'kafka',
    options: Pick<KafkaOptions, 'version' | 'port'> = {},
  ): Promise<KafkaServer> => {
    const dataDir = join(dir.path, name);
    const server = await startKafka({ dataDir, logger, tied: true, brief: true, ...options });
    servers.push(server);
    return server;
  };

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  for (const version of kafkaVersions) {
    it(`starts as ${version}, and stores records across a stop`, async () => {
      const first = await start('kafka', { version });
      await send(first, 'stored', 'an event');
      expect(await receive(first, 'stored')).to.equal('an event');
      await first.stop();
      expect(await first.exited).to.deep.equal({ status: 'stopped' });
      expect(isAlive(first.pid)).to.equal(false);

      const second = await start('kafka', { version });
      expect(second.clusterId).to.equal(first.clusterId);
      expect(await receive(second, 'stored')).to.equal('an event');
    });
  }

  it('ends with its parent process, even after SIGKILL', async () => {
    const dataDir = join(dir.path, 'kafka');
    const program = `
      const { startKafka } = await import(${JSON.stringify(new URL('index.js', import.meta.url).href)});
      const { createLogger } = await import(${JSON.stringify(new URL('../../platform/logging.js', import.meta.url).href)});
      const server = await startKafka({ dataDir: ${JSON.stringify(dataDir)}, logger: createLogger('silent'), tied: true, brief: true });
      console.log(server.pid);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(output.toString());
    expect(isAlive(pid)).to.equal(true);
    parent.kill('SIGKILL');
    await eventually('the broker has exited', () => !isAlive(pid));
  });
});
