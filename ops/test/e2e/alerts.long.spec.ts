import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { recordsIn } from '../../../redirect-edge/spool/record.js';
import { listSegments } from '../../../redirect-edge/spool/segment.js';
import { topics } from '../../../schemas/events/topics.js';
import { sealKeyFileIn } from '../../app/data-dir.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { pausePostgres } from '../../tools/cli/testing/spool-ship.suite.js';
import { fixture } from '../support/fixture.js';
import { eventStoreFixture, folderFixture, safeBrowsingFixture } from '../support/fixtures.js';
import { concurrently } from '../support/http.js';
import { dedicatedKafka, kafkaPrograms } from '../support/kafka.js';
import { withLedger } from '../support/ledger-events.js';
import { openTestLog } from '../support/node.js';
import { startLinklogCli, type CommandOutput } from '../support/process.js';
import { alertRules } from '../support/prometheus.js';
import { receiverFixture } from '../support/receiver.js';
import { allSealed, alterRecord, forgeChain } from '../support/sealing.js';
import { mountTmpfs } from '../support/tmpfs.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  alertsProduct,
  clockAhead,
  deadLetter,
  expectAlerts,
  lockedProjection,
  lockedTable,
  manyConnections,
  missingEvent,
  stoppedPostgres,
  stoppedProcess,
  throttledProcess,
  type Fault,
} from './alerts-harness.js';
import { keyFixture } from './harness.js';
import { webhookCalls } from './webhooks-harness.js';
import { needs } from '../support/needs.js';

const run = promisify(execFile);

/** Alerts that have fired and ended. */
const seen = new Set<string>();
const see = (names: readonly string[]): void => {
  for (const name of names) seen.add(name);
};

/** A product with a Kafka of its own. */
const alertsOnKafka = () => {
  const kafka = fixture(
    () => dedicatedKafka('alerts'),
    (kafka) => kafka.drop(),
  );
  const { bench, prometheus } = alertsProduct(() => ({
    KAFKA_BROKERS: kafka.brokers,
    KAFKA_TOPIC_PREFIX: kafka.prefix,
  }));
  const expectSeen = async (...faults: readonly Fault[]): Promise<void> => {
    see(await expectAlerts(prometheus, faults));
  };
  return { kafka, bench, expectSeen, prometheus };
};

describe('product: all alerts of Prometheus', function () {
  this.timeout(900_000);
  needs(...kafkaPrograms, 'mount', 'prometheus');

  describe('of one process', () => {
    const safeBrowsing = safeBrowsingFixture();
    const archive = eventStoreFixture();
    const receiver = receiverFixture();
    const disk = fixture(
      () => mountTmpfs(16),
      (disk) => disk.unmount(),
    );
    const { bench, prometheus } = alertsProduct(() => ({
      SAFE_BROWSING_API_KEY: 'key-of-a-test',
      SAFE_BROWSING_URL: safeBrowsing.url,
      EVENTSTORE_URL: archive.url,
      WEBHOOK_NETWORKS: '127.0.0.0/8',
      SPOOL_DIR: disk.dir,
      SPOOL_MAX_BYTES: String(2 ** 20),
    }));
    const owner = keyFixture(bench, 'PRO');
    const link = fixture(() => bench.link(owner.key));
    const expectSeen = async (...faults: readonly Fault[]): Promise<void> => {
      see(await expectAlerts(prometheus, faults));
    };

    /** The receiver accepts deliveries and does not respond. */
    const silentReceiver: Fault = {
      alerts: ['LinklogWebhookBehind'],
      async begin() {
        const hook = receiver.hook();
        hook.respond('silent');
        const webhook = await webhookCalls(bench).create(owner, { url: hook.url });
        for (let count = 0; count < 9; count += 1) await bench.link(owner.key);
        return async () => {
          hook.respond(204);
          const { status } = await webhookCalls(bench).send(owner, 'DELETE', `/${webhook.id}`);
          expect(status).to.equal(204);
        };
      },
    };

    const stalledArchive: Fault = {
      alerts: ['LinklogOptionalDependencyDown', 'LinklogArchiveBehind'],
      async begin() {
        archive.stall();
        await bench.link(owner.key);
        return () => {
          archive.resume();
        };
      },
    };

    const failingSafeBrowsing: Fault = {
      alerts: ['LinklogSafeBrowsingDown'],
      async begin() {
        safeBrowsing.behaviour = 'fail';
        for (let count = 0; count < 5; count += 1) {
          await bench.shorten(owner.key, { url: `https://failing.example/${count}` });
        }
        return async () => {
          safeBrowsing.behaviour = 'answer';
          await bench.shorten(owner.key, { url: 'https://answering.example/' });
        };
      },
    };

    const fullDisk: Fault = {
      alerts: ['LinklogDiskFull', 'LinklogVisitsRefused'],
      async begin() {
        await disk.fill();
        let status = 302;
        while (status === 302) ({ status } = await bench.visit(link.shortCode));
        expect(status).to.equal(503);
        return () => disk.deleteFiller();
      },
    };

    it('fire while other services and sessions fail', async () => {
      await expectSeen(
        ...[deadLetter(bench, owner.key), clockAhead(bench), manyConnections(bench)],
        ...[lockedProjection(bench, link.shortCode), silentReceiver, stalledArchive],
        failingSafeBrowsing,
      );
    });

    it('fire while a table is locked', async () => {
      await expectSeen(lockedTable(bench, owner.key));
    });

    it('fire while PostgreSQL is stopped', async () => {
      const alerts = [
        ...['LinklogDependencyDown', 'LinklogServerErrors'],
        ...['LinklogSpoolStalled', 'LinklogSpoolFull'],
      ];
      await expectSeen(stoppedPostgres(bench, owner.key, link.shortCode, alerts));
    });

    it('fire while the disk is full', async () => {
      await expectSeen(fullDisk);
    });

    it('fire while the process is stopped or throttled', async () => {
      await expectSeen(throttledProcess(bench));
      await expectSeen(stoppedProcess(bench));
    });
  });

  describe('of files that are changed', () => {
    const { bench, start, prometheus } = alertsProduct();
    const snapshot = folderFixture();
    const owner = keyFixture(bench, 'PRO');
    const link = fixture(() => bench.link(owner.key));
    const visits = topics.visits.name;
    const signedDir = (): string => `${sealKeyFileIn(bench.product.dataDir)}.signed`;
    const visit = async (count: number): Promise<void> => {
      const responses = await concurrently(count, () => bench.visit(link.shortCode));
      for (const { status } of responses) expect(status).to.equal(302);
    };
    const whileStopped = async (work: () => Promise<unknown>): Promise<void> => {
      await bench.product.stop();
      await work();
      await start();
    };
    const audit = (...args: readonly string[]): Promise<CommandOutput> =>
      startLinklogCli(['audit', ...args], { DATA_DIR: bench.product.dataDir }).ended;
    const verifySeals = async (): Promise<CommandOutput> => {
      const publicKey = path.join(snapshot.path, 'seal-key.pub.pem');
      const exported = await audit('seal', '--export-key', publicKey, '--force');
      expect(exported).to.include({ exitCode: 0, stderr: '' });
      return audit('verify', '--seals', '--public-key', publicKey);
    };

    /** A disk changes a byte of the spool while the process is down. */
    const damagedSpool: Fault = {
      alerts: ['LinklogSpoolDamaged'],
      async begin() {
        const { spoolRoot } = bench.product;
        await visit(1);
        await bench.expectClicks(link.shortCode, owner.key, 1);
        await pausePostgres(bench.product);
        await visit(9);
        await bench.product.killTree();
        const [spool = ''] = await readdir(spoolRoot);
        const [segment] = await listSegments(path.join(spoolRoot, spool));
        const bytes = await readFile(segment?.path ?? '');
        const damaged = [...recordsIn(bytes)].at(-4);
        if (!segment || !damaged) throw new Error('the spool has fewer than four visits');
        bytes[damaged.end - 1] = (bytes[damaged.end - 1] ?? 0) ^ 1;
        await writeFile(segment.path, bytes);
        await start();
        await bench.expectClicks(link.shortCode, owner.key, 6);
        return async () => {
          const files = (await readdir(spoolRoot)).filter((name) => name.endsWith('.bad'));
          expect(files).to.have.length(1);
          for (const file of files) await rm(path.join(spoolRoot, file));
        };
      },
    };

    /** An attacker with write access to PostgreSQL changes a sealed visit and its chain. */
    const forgedLog = (repair: () => Promise<unknown>): Fault => ({
      alerts: ['LinklogSealsBroken'],
      async begin() {
        const { dataDir } = bench.product;
        await visit(1);
        await withLedger({ dataDir }, async (pool) => {
          const url = (await runningPostgresUrl(dataDir)) ?? '';
          const { log } = await openTestLog({ pool, url, logger: createLogger('silent') });
          try {
            // Events of this minute's calls may follow.
            await eventuallyPasses(() => allSealed(pool, log), 120_000);
            const range = (await log.ranges(visits)).find(({ next }) => next > 0);
            if (!range) throw new Error(`${visits} has no records`);
            const at = { topic: visits, partition: range.partition };
            await alterRecord(pool, { ...at, offset: 0 }, (value) => value.replace('{', '{ '));
            await forgeChain(pool, log, at, { from: 0, to: range.next });
          } finally {
            await log.close();
          }
        });
        await visit(20);
        expect(await verifySeals()).to.include({ exitCode: 1 });
        return () => whileStopped(repair);
      },
    });

    it('fire while a damaged file of a spool is set aside', async () => {
      see(await expectAlerts(prometheus, [damagedSpool]));
    });

    it('fire while the log differs from its seals, until both are restored', async () => {
      const { dataDir } = bench.product;
      const sources = [path.join(dataDir, 'postgres'), signedDir()];
      await visit(1);
      await whileStopped(() => run('cp', ['--archive', ...sources, snapshot.path]));
      const fault = forgedLog(async () => {
        for (const source of sources) {
          await rm(source, { recursive: true });
          await run('cp', ['--archive', path.join(snapshot.path, path.basename(source)), dataDir]);
        }
      });
      see(await expectAlerts(prometheus, [fault]));
      expect(await verifySeals()).to.include({ exitCode: 0 });
    });

    it('fire while the log differs from its seals, until an operator accepts it', async () => {
      const fault = forgedLog(() => rm(signedDir(), { recursive: true }));
      see(await expectAlerts(prometheus, [fault]));
      expect(await verifySeals()).to.include({ exitCode: 0 });
    });
  });

  describe('of Kafka', () => {
    const { kafka, bench, expectSeen } = alertsOnKafka();

    const stoppedKafka: Fault = {
      alerts: ['LinklogOutboxUnsent'],
      async begin() {
        process.kill(kafka.server.pid, 'SIGSTOP');
        const change = { features: { qr: true } };
        await bench.admin('PATCH', '/admin/platform', { features: { qr: false } });
        await bench.admin('PATCH', '/admin/platform', change);
        return () => process.kill(kafka.server.pid, 'SIGCONT');
      },
    };

    const lostRelay: Fault = {
      alerts: ['LinklogNoRelay'],
      begin: () => pausePostgres(bench.product),
    };

    it('fire while Kafka is stopped', async () => {
      await expectSeen(stoppedKafka);
    });

    it('fire while no process runs the relay', async () => {
      await expectSeen(lostRelay);
    });
  });

  // A product of its own: a PostgreSQL that reconnects is compared with the log, which has an unknown event here.
  describe('of the log in Kafka', () => {
    const { kafka, bench, expectSeen } = alertsOnKafka();

    /** An operator deletes a topic without records, and creates it again. */
    const deletedTopic: Fault = {
      alerts: ['LinklogLogFaults'],
      async begin() {
        const admin = kafka.client().admin();
        await admin.connect();
        const { name, partitions } = topics.usage;
        const topic = kafka.prefix + name;
        await admin.deleteTopics({ topics: [topic] });
        return async () => {
          const configEntries = [{ name: 'retention.ms', value: '-1' }];
          await admin.createTopics({
            topics: [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }],
          });
          await admin.disconnect();
        };
      },
    };

    it('fire while a topic is missing, and an event', async () => {
      await expectSeen(missingEvent(bench, kafka), deletedTopic);
    });
  });

  // Mocha runs the tests of a suite before its nested suites.
  describe('of the rules', () => {
    it('were all tested above', () => {
      expect([...seen]).to.have.members(alertRules().flatMap(({ alert }) => alert ?? []));
    });
  });
});
