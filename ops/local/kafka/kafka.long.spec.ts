import { expect } from 'chai';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createLogger } from '../../platform/logging.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { eventually } from '../../test/support/waiting.js';
import { kafkaVersions, startKafka, type KafkaOptions, type KafkaServer } from './index.js';

const logger = createLogger('silent');

const client = ({ brokers }: KafkaServer): Kafka =>
  // Until a broker has found its feet again, groups are refused: a few tries more than the five.
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

/** The first value of a topic, read by a group that begins at its beginning: a new one. */
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
  // What may be fetched, and starts many times on a machine with other work.
  this.timeout(kafkaStartMs);

  const dirs: string[] = [];
  const servers: KafkaServer[] = [];

  const newDir = async (): Promise<string> => {
    const dir = await mkdtemp(join(tmpdir(), 'linklog-kafka-'));
    dirs.push(dir);
    return dir;
  };
  const start = async (
    options: Partial<KafkaOptions> & { dataDir: string },
  ): Promise<KafkaServer> => {
    const server = await startKafka({ logger, tied: true, brief: true, ...options });
    servers.push(server);
    return server;
  };

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
  });

  for (const version of kafkaVersions) {
    it(`starts as ${version}, takes and gives events, and keeps them over a stop`, async () => {
      const dataDir = await newDir();
      const first = await start({ dataDir, version });
      await send(first, 'kept', 'an event');
      expect(await receive(first, 'kept')).to.equal('an event');
      await first.stop();
      expect(await first.exited).to.deep.equal({ status: 'stopped' });
      expect(isAlive(first.pid)).to.equal(false);

      const second = await start({ dataDir, version });
      expect(second.clusterId).to.equal(first.clusterId);
      expect(await receive(second, 'kept')).to.equal('an event');
    });
  }

  it('is killed, says so, and restarts at the same address with the same data', async () => {
    const server = await start({ dataDir: await newDir() });
    const { pid, brokers } = server;
    await send(server, 'kept', 'before the kill');
    server.kill('SIGKILL');
    expect(await server.exited).to.deep.include({ status: 'died', reason: 'signal SIGKILL' });

    await server.restart();
    expect(server.pid).not.to.equal(pid);
    expect(server.brokers).to.equal(brokers);
    expect(await receive(server, 'kept')).to.equal('before the kill');
  });

  it('ends what was left running on its data, and nothing else', async () => {
    const dataDir = await newDir();
    const left = await start({ dataDir });
    const other = await start({ dataDir: await newDir() });
    const next = await start({ dataDir });
    expect(await left.exited).to.have.property('status', 'died');
    expect(isAlive(left.pid)).to.equal(false);
    expect(next.clusterId).to.equal(left.clusterId);
    expect(isAlive(other.pid)).to.equal(true);
  });

  it('starts twice at once, each on its own', async () => {
    const [a, b] = await Promise.all([
      start({ dataDir: await newDir() }),
      start({ dataDir: await newDir() }),
    ]);
    expect(a.brokers).not.to.equal(b.brokers);
    expect(a.clusterId).not.to.equal(b.clusterId);
    await send(a, 'of-a', 'an event');
    const admin = client(b).admin();
    await admin.connect();
    expect(await admin.listTopics()).not.to.include('of-a');
    await admin.disconnect();
  });

  it('is understood by others: kcat lists it', async () => {
    const server = await start({ dataDir: await newDir() });
    const { stdout } = await promisify(execFile)('kcat', ['-b', server.brokers, '-L', '-J']);
    expect(JSON.parse(stdout)).to.deep.include({ brokers: [{ id: 1, name: server.brokers }] });
  });

  it('makes no topic that nobody created', async () => {
    const server = await start({ dataDir: await newDir() });
    const producer = client(server).producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: { retries: 0 },
    });
    await producer.connect();
    const sent = producer.send({ topic: 'a-typing-error', messages: [{ value: 'x' }] });
    expect(await sent.catch((error: unknown) => error)).to.be.instanceOf(Error);
    await producer.disconnect();
  });

  it('says what it said itself, when it ends at its start', async () => {
    const dataDir = await newDir();
    const server = await start({ dataDir });
    await server.stop();
    const port = Number(server.brokers.split(':')[1]);
    const taken = createServer().listen(port, '127.0.0.1');
    await once(taken, 'listening');
    const error: unknown = await start({ dataDir, port }).catch((reason: unknown) => reason);
    taken.close();
    expect(error).to.have.property('code', 'SERVER_FAILED');
    expect(String(error)).to.include('already in use');
  });

  it('ends with the process that started it, even by SIGKILL', async () => {
    const dataDir = await newDir();
    const program = `
      const { startKafka } = await import(${JSON.stringify(new URL('index.js', import.meta.url).href)});
      const { createLogger } = await import(${JSON.stringify(new URL('../../platform/logging.js', import.meta.url).href)});
      const server = await startKafka({ dataDir: ${JSON.stringify(dataDir)}, logger: createLogger('silent'), tied: true, brief: true });
      console.log(server.pid);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(said.toString());
    expect(isAlive(pid)).to.equal(true);
    parent.kill('SIGKILL');
    await eventually('the broker is gone', () => !isAlive(pid));
  });
});
