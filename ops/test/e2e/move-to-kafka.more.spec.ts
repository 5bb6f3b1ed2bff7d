import { expect } from 'chai';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { kafkaStartMs } from '../support/kafka.js';
import { startEmbeddedProduct, startProduct } from '../support/product.js';
import { Bench } from './harness.js';
import { type CommandOutput, startLinklogCli } from '../support/process.js';
import { folderFixture, kafkaFixture } from '../support/fixtures.js';

describe('product: embedded installation that moves to Kafka', function () {
  this.timeout(120_000);
  const old = new Bench();
  const moved = new Bench();
  const kafka = kafkaFixture('move');
  let onKafka: Record<string, string>;
  const target = folderFixture();
  let file: string;

  before(async function () {
    this.timeout(kafkaStartMs);
    onKafka = { KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix };
    file = path.join(target.path, '..', `${path.basename(target.path)}.backup`);
    old.use(await startEmbeddedProduct());
  });
  after(async () => {
    await moved.end();
    await old.end();
    await rm(file, { force: true });
  });

  const linklog = (args: readonly string[], env: Record<string, string>): Promise<CommandOutput> =>
    startLinklogCli(args, env).ended;

  it('keeps links, counts, limits and keys, works, and does not start on another log', async () => {
    const { key } = await old.key('PRO');
    const { shortCode } = await old.link(key);
    const { shortCode: limited } = await old.link(key, { maxClicks: 3 });
    for (let visit = 0; visit < 40; visit += 1) await old.visit(shortCode);
    await old.visit(limited);
    await old.expectClicks(shortCode, key, 40);
    await old.expectClicks(limited, key, 1);
    const before = [await old.stats(shortCode, key), await old.stats(limited, key)];
    const { adminToken } = old.product;

    const backedUp = await linklog(['backup', file], { DATA_DIR: old.product.dataDir });
    expect(backedUp.exitCode, backedUp.stderr).to.equal(0);
    await old.product.stop();
    const restored = await linklog(['restore', file], { DATA_DIR: target.path, ...onKafka });
    expect(restored.exitCode, restored.stderr).to.equal(0);

    const env = { ...onKafka, ADMIN_TOKEN: adminToken };
    moved.use(await startProduct({ dataDir: target.path, env }));
    expect(moved.product.firstKey).to.equal(null);
    expect([await moved.stats(shortCode, key), await moved.stats(limited, key)]).to.deep.equal(
      before,
    );
    const visits = [];
    for (let visit = 0; visit < 4; visit += 1) visits.push((await moved.visit(limited)).status);
    expect(visits).to.deep.equal([302, 302, 410, 410]);
    expect((await moved.visit(shortCode)).status).to.equal(302);
    await moved.link(key);
    await moved.expectClicks(shortCode, key, 41);

    await moved.product.stop();
    const elsewhere = await startEmbeddedProduct({ dataDir: target.path }).then(
      () => 'started',
      (error: unknown) => String(error),
    );
    expect(elsewhere).to.match(/belongs to the log kafka:.*configured one is postgres/);
  });
});
