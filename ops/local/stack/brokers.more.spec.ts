import { expect } from 'chai';
import kafkajs, { Kafka, logLevel } from 'kafkajs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { topicNames } from '../../../schemas/events/topics.js';
import { sendRequest, type HttpResponse } from '../../test/support/http.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { launch, stopProcess } from '../../test/support/process.js';
import { issueKey } from '../../test/support/product.js';
import { stackPrograms, startStackProcess } from '../../test/support/stack.js';
import { eventually } from '../../test/support/waiting.js';
import { fixture } from '../../test/support/fixture.js';
import { folderFixture } from '../../test/support/fixtures.js';

/** Less than the 5 minutes for which kafkajs may cache the old leaders. */
const failoverWithinMs = 25_000;
const stackFile = fileURLToPath(new URL('../../app/stack.js', import.meta.url));

describe('local servers: npm run stack -- --brokers 3', function () {
  // Kafka may have to be downloaded first.
  this.timeout(kafkaStartMs);

  const stack = fixture(
    () =>
      startStackProcess({ LOG_LEVEL: 'error' }, [
        ...['--brokers', '3'],
        ...['--apis', '1', '--edges', '1', '--projectors', '1'],
      ]),
    (stack) => stack.stop(),
    { needs: stackPrograms },
  );
  const dataDir = folderFixture();
  let key: string;

  before(async () => {
    ({ key } = await issueKey(stack, { plan: 'PRO' }));
  });

  const admin = async <Result>(
    work: (admin: ReturnType<Kafka['admin']>) => Promise<Result>,
  ): Promise<Result> => {
    const kafka = new Kafka({ brokers: stack.kafka.split(','), logLevel: logLevel.NOTHING });
    const connected = kafka.admin();
    await connected.connect();
    try {
      return await work(connected);
    } finally {
      await connected.disconnect();
    }
  };

  /** The partitions of all topics. */
  const partitions = () =>
    admin(async (client) => {
      const { topics } = await client.fetchTopicMetadata({ topics: [...topicNames] });
      return topics.flatMap((topic) => topic.partitions);
    });

  const create = (): Promise<HttpResponse> =>
    sendRequest(`${stack.apis[0] ?? ''}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: { url: 'https://example.com/' },
    });

  /** Creates links until 16 in a row get 201: twice the number of partitions. */
  const createSteadily = async (): Promise<void> => {
    let inARow = 0;
    await eventually(
      'links are created steadily',
      async () => {
        const { status, text } = await create();
        expect(status, text).to.be.oneOf([201, 503]);
        inARow = status === 201 ? inARow + 1 : 0;
        return inARow === 16;
      },
      failoverWithinMs,
    );
  };

  it('spreads three replicas of each partition, two of which must be in sync', async () => {
    const assigned = await partitions();
    for (const { replicas } of assigned) expect([...replicas].sort()).to.deep.equal([1, 2, 3]);
    expect([...new Set(assigned.map(({ leader }) => leader))].sort()).to.deep.equal([1, 2, 3]);
    const { resources } = await admin((client) =>
      client.describeConfigs({
        includeSynonyms: false,
        resources: topicNames.map((name) => ({
          ...{ type: kafkajs.ConfigResourceTypes.TOPIC, name },
          configNames: ['min.insync.replicas'],
        })),
      }),
    );
    for (const { configEntries } of resources) {
      expect(configEntries[0]).to.have.property('configValue', '2');
    }
  });

  it('creates links again while one broker is stopped', async () => {
    const resume = await stopProcess(stack.pids.kafka[1] ?? 0);
    try {
      await createSteadily();
    } finally {
      resume();
    }
  });

  it('restarts a killed broker at its address, and its replicas get in sync', async () => {
    const { kafka } = stack;
    process.kill(stack.pids.kafka[2] ?? 0, 'SIGKILL');
    await eventually('the broker is restarted', () => stack.restarts('kafka', 2) === 1, 60_000);
    const isWhole = async (): Promise<boolean> =>
      (await partitions()).every(({ isr }) => isr.length === 3);
    await eventually('every replica is in sync', isWhole, 60_000);
    const { brokers } = await admin((client) => client.describeCluster());
    expect(brokers.map(({ port }) => `127.0.0.1:${port}`).sort()).to.deep.equal(
      kafka.split(',').sort(),
    );
    await createSteadily();
  });

  it('rejects an invalid number of brokers, or another one than DATA_DIR has, with exit code 78', async () => {
    const reject = async (brokers: string, dir: string): Promise<string> => {
      const { exitCode, stdout, stderr } = await launch({ DATA_DIR: dir }, [
        ...[stackFile, '--brokers', brokers],
      ]).ended;
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 78, stdout: '' });
      return stderr;
    };
    for (const [count, refused] of [
      [3, 1],
      [1, 3],
    ] as const) {
      const dir = join(dataDir.path, String(count));
      for (const broker of ['kafka', 'kafka-2', 'kafka-3'].slice(0, count)) {
        await mkdir(join(dir, broker, 'data'), { recursive: true });
        await writeFile(join(dir, broker, 'data', 'meta.properties'), 'cluster.id=some\n');
      }
      expect(await reject(String(refused), dir)).to.equal(
        `linklog: DATA_DIR ${dir} contains the data of ${count} Kafka brokers, but --brokers is ${refused}; ` +
          `start with --brokers ${count}, or with another DATA_DIR\n`,
      );
    }
    for (const count of ['0', '6']) {
      const stderr = await reject(count, dataDir.path);
      expect(stderr).to.match(/^linklog: [^\n]+a number from 1 to 5\.\n$/);
    }
  });
});
