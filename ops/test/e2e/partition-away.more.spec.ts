import { expect } from 'chai';
import { Kafka, logLevel } from 'kafkajs';
import path from 'node:path';
import { topics } from '../../../schemas/events/topics.js';
import { partitionOf } from '../../event-log/partition.js';
import { startKafkaCluster } from '../../local/kafka/index.js';
import { createLogger } from '../../platform/logging.js';
import { codeIn } from '../conformance/event-log/events.js';
import { fixture } from '../support/fixture.js';
import { folderFixture } from '../support/fixtures.js';
import { kafkaPrograms, kafkaStartMs } from '../support/kafka.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { destination, expectError, productFixture, type Link } from './harness.js';

const links = topics.links.name;
const logUnavailable = 'The event log is temporarily unavailable';

describe('product: while a partition of Kafka has no leader', function () {
  this.timeout(kafkaStartMs);
  const dir = folderFixture();
  const brokers = fixture(
    () =>
      startKafkaCluster({
        brokers: ['1', '2', '3'].map((name) => ({ dataDir: path.join(dir.path, name) })),
        ...{ logger: createLogger('silent'), tied: true, brief: true },
      }),
    async (servers) => {
      await Promise.all(servers.map((server) => server.stop()));
    },
    { needs: kafkaPrograms },
  );
  const addresses = (): string[] => brokers.map((server) => server.brokers);
  const bench = productFixture(() => ({
    KAFKA_BROKERS: addresses().join(),
    // The stack has a prefix in tests.
    KAFKA_TOPIC_PREFIX: '',
    // So that the partitions of a killed broker get no other leader.
    ...{ KAFKA_REPLICAS: '1', KAFKA_MIN_INSYNC_REPLICAS: '1' },
  }));

  it('refuses only requests for its own subjects', async () => {
    const { key } = await bench.key('PRO');
    const admin = new Kafka({ brokers: addresses(), logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const { topics: found } = await admin.fetchTopicMetadata({ topics: [links] });
    await admin.disconnect();
    const partitions = found[0]?.partitions ?? [];
    const killed = partitions[0]?.leader ?? 0;
    const idsOf = (isKilled: boolean): number[] =>
      partitions
        .filter(({ leader }) => (leader === killed) === isKilled)
        .map(({ partitionId }) => partitionId);
    const [without = 0] = idsOf(true);
    const [other = 0] = idsOf(false);
    const [stuck, served] = [codeIn(links, without), codeIn(links, other)];
    for (const alias of [stuck, served]) await bench.link(key, { alias });

    brokers[killed - 1]?.kill('SIGKILL');
    let inARow = 0;
    await eventually(
      'links are created steadily',
      async () => {
        const { status, text } = await bench.shorten(key, { url: destination });
        expect(status, text).to.be.oneOf([201, 503]);
        inARow = status === 201 ? inARow + 1 : 0;
        return inARow === 16;
      },
      60_000,
    );
    const change = (code: string) =>
      bench.api(`/v2/links/${code}`, key, { method: 'PATCH', body: { title: 'Changed' } });
    // Its partition counts as stalled 2 s after the first unsent event. From then on, a refused request costs nothing.
    await eventuallyPasses(async () => {
      const before = await bench.usage(key);
      expectError(await change(stuck), {
        ...{ status: 503, message: logUnavailable, method: 'PATCH' },
        path: `/v2/links/${stuck}`,
      });
      expect(await bench.usage(key)).to.deep.equal(before);
    });
    const taken = await bench.shorten(key, { url: destination, alias: codeIn(links, without) });
    expectError(taken, {
      ...{ status: 503, message: logUnavailable, method: 'POST' },
      path: '/v2/shorten',
    });

    expect((await change(served)).status).to.equal(200);
    await bench.link(key, { alias: codeIn(links, other) });
    for (let count = 0; count < 16; count += 1) {
      const response = await bench.shorten(key, { url: destination });
      expect(response.status, response.text).to.equal(201);
      const { shortCode } = response.json() as Link;
      expect(partitionOf(shortCode, partitions.length)).not.to.be.oneOf(idsOf(true));
    }
  });
});
