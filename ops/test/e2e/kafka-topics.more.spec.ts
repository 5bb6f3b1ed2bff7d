import { expect } from 'chai';
import kafkajs from 'kafkajs';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import { sendRequest } from '../support/http.js';
import { kafkaStartMs } from '../support/kafka.js';
import { runToEnd, startLinklogCli, type CommandOutput } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { waitUntilProjected } from '../support/projected.js';
import { eventuallyPasses } from '../support/waiting.js';
import { Bench } from './harness.js';
import { fixture } from '../support/fixture.js';
import { folderFixture, kafkaFixture } from '../support/fixtures.js';

/** A fault is detected within 15 s and confirmed a second later. */
const detectedMs = 40_000;

describe('product: when an operator changes topics in Kafka', function () {
  this.timeout(180_000);
  const bench = new Bench();
  const kafka = kafkaFixture('topics', { per: 'test' });
  const admin = fixture(
    () => kafka.client().admin(),
    (admin) => admin.disconnect(),
    { per: 'test' },
  );
  const dataDir = folderFixture({ per: 'test' });
  let env: Record<string, string>;
  let key: string;

  const start = async (): Promise<void> => {
    bench.use(await startEmbeddedProduct({ dataDir: dataDir.path, env }));
  };

  beforeEach(async function () {
    this.timeout(kafkaStartMs);
    await admin.connect();
    env = { KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix };
    await start();
    ({ key } = await bench.key('PRO'));
  });
  afterEach(async () => {
    await bench.product.cleanup();
  });

  const nameOf = (topic: TopicName): string => kafka.prefix + topic;

  const linklog = (...args: readonly string[]): Promise<CommandOutput> =>
    startLinklogCli(args, { DATA_DIR: dataDir.path, ...env }).ended;

  const readiness = async () => {
    const response = await sendRequest(`${bench.product.admin}/health/ready`);
    const { dependencies } = response.json() as { dependencies: Record<string, object> };
    return { status: response.status, log: dependencies['log'] };
  };

  const untilReadiness = (status: number, log: object): Promise<void> =>
    eventuallyPasses(async () => {
      expect(await readiness()).to.deep.equal({ status, log });
    }, detectedMs);

  /** The line may be written shortly after the report has changed. */
  const expectOneLine = (code: string): Promise<void> =>
    eventuallyPasses(() => {
      const lines = bench.product.stderr().split('\n');
      const faults = lines.filter((line) => line.includes('the log in Kafka has faults'));
      expect(faults).to.have.length(1);
      expect(faults[0]).to.include(code);
    });

  const metricOf = async (code: string): Promise<string | undefined> => {
    const { text } = await sendRequest(`${bench.product.admin}/metrics`);
    return text.split('\n').find((line) => line.startsWith(`linklog_log_faults{code="${code}"}`));
  };

  const visitAndCount = async (shortCode: string, clicks: number): Promise<void> => {
    expect((await bench.visit(shortCode)).status).to.equal(302);
    await bench.expectClicks(shortCode, key, clicks);
  };

  it('linklog doctor names settings with which records are lost', async () => {
    const name = nameOf(topics.visits.name);
    const setting = (configName: string, value: string) => ({ name: configName, value });
    await admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          ...{ type: kafkajs.ConfigResourceTypes.TOPIC, name },
          configEntries: [
            ...[setting('cleanup.policy', 'delete'), setting('retention.ms', '1000')],
            ...[
              setting('retention.bytes', '-1'),
              setting('unclean.leader.election.enable', 'true'),
            ],
          ],
        },
      ],
    });
    const { exitCode, stdout } = await linklog('doctor');
    expect(exitCode).to.equal(1);
    expect(stdout).to.include(`The topic ${name} has retention.ms=1000, the log needs -1`);
    expect(stdout).to.include(`${name} allows unclean leaders`);
    expect(stdout).to.include(`${nameOf(topics.links.name)} has 1 replicas`);
  });

  it('continues with a log that was truncated at its start, and rejects commands that need all of it', async () => {
    const { shortCode } = await bench.link(key);
    await waitUntilProjected(bench.product.edges);
    const topic = nameOf(topics.links.name);
    const offsets = await admin.fetchTopicOffsets(topic);
    const cut = offsets.filter(({ high }) => Number(high) > 0);
    await admin.deleteTopicRecords({
      topic,
      partitions: cut.map(({ partition, high }) => ({ partition, offset: high })),
    });
    const [{ partition, high } = { partition: -1, high: '' }] = cut;
    const reason = `${topic}/${partition} begins at offset ${high}: the records before it were deleted in Kafka`;
    await untilReadiness(200, { state: 'up', code: 'LOG_CUT', detail: reason });
    await expectOneLine('LOG_CUT');
    expect(await metricOf('LOG_CUT')).to.match(/ 1$/);

    const file = path.join(dataDir.path, 'cut.backup');
    const backup = await linklog('backup', file);
    expect(backup).to.include({ exitCode: 1, stdout: '' });
    expect(backup.stderr).to.match(/^linklog: .*begins at offset \d+: .*needs the whole log\n$/);
    expect(existsSync(file)).to.equal(false);
    const verify = await linklog('audit', 'verify');
    expect(verify.exitCode, verify.stderr).to.equal(1);
    expect(verify.stderr).to.match(/begins at offset \d+: .*needs the whole log/);

    await bench.product.stop();
    await start();
    await untilReadiness(200, { state: 'up', code: 'LOG_CUT', detail: reason });
    await visitAndCount(shortCode, 1);
  });

  it('reports a deleted topic, redirects, and does not create the topic again', async () => {
    const { shortCode } = await bench.link(key);
    await visitAndCount(shortCode, 1);
    const topic = nameOf(topics.visits.name);
    await admin.deleteTopics({ topics: [topic] });
    const detail = `topic ${topic} is missing: it was deleted in Kafka, with its records`;
    await untilReadiness(503, { state: 'down', code: 'TOPIC_MISSING', detail });
    await expectOneLine('TOPIC_MISSING');
    for (let visit = 0; visit < 5; visit += 1) {
      expect((await bench.visit(shortCode)).status).to.equal(302);
    }

    await bench.product.stop();
    const again = await runToEnd({ DATA_DIR: dataDir.path, ...env }, 60_000);
    expect(again, again.stderr).to.include({ exitCode: 1, stdout: '' });
    expect(again.stderr).to.include(detail);
    expect(await admin.listTopics()).not.to.include(topic);
  });
});
