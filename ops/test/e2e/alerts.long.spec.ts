import { expect } from 'chai';
import { startSafeBrowsingDouble } from '../../../command-api/safety/testing/safe-browsing-double.js';
import { topics } from '../../../schemas/events/topics.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { pausePostgres } from '../../tools/cli/testing/spool-ship.suite.js';
import { startEventStoreDouble } from '../support/eventstore/double.js';
import { fixture } from '../support/fixture.js';
import { dedicatedKafka } from '../support/kafka.js';
import { openProductPool } from '../support/ledger-events.js';
import { openTestLog } from '../support/node.js';
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

  describe('of one process', () => {
    const safeBrowsing = fixture(
      () => startSafeBrowsingDouble(),
      (double) => double.stop(),
    );
    const archive = fixture(
      () => startEventStoreDouble(),
      (double) => {
        double.kill();
      },
    );
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

    it('fire while the log differs from its seals', async () => {
      const { dataDir } = bench.product;
      const visited = await bench.link(owner.key);
      expect((await bench.visit(visited.shortCode)).status).to.equal(302);
      await bench.expectClicks(visited.shortCode, owner.key, 1);
      const visits = topics.visits.name;
      const withLog = async (
        work: (pool: Pool, log: Awaited<ReturnType<typeof openTestLog>>['log']) => Promise<void>,
      ): Promise<void> => {
        const pool = await openProductPool(dataDir);
        const url = (await runningPostgresUrl(dataDir)) ?? '';
        const { log } = await openTestLog({ pool, url, logger: createLogger('silent') });
        try {
          await work(pool, log);
        } finally {
          await log.close();
          await pool.end();
        }
      };
      await withLog(async (pool, log) => {
        // Events of this minute's calls may follow.
        await eventuallyPasses(120_000, () => allSealed(pool, log));
        const ranges = await log.ranges(visits);
        const { partition, next: to } = ranges.find(({ next }) => next > 0) ??
          ranges[0] ?? {
            partition: 0,
            next: 0,
          };
        const at = { topic: visits, partition };
        await alterRecord(pool, { ...at, offset: 0 }, (value) => value.replace('{', '{ '));
        await forgeChain(pool, log, at, { from: 0, to });
      });
      for (const { shortCode } of [visited, link]) {
        for (let count = 0; count < 20; count += 1) await bench.visit(shortCode);
      }
      await prometheus.untilFiring(['LinklogSealsBroken']);
      // It ends after a restart of the projectors, see seals.md.
      see(['LinklogSealsBroken']);
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

  it('are all tested, except that of damaged files of spools', () => {
    expect([...seen, 'LinklogSpoolDamaged']).to.have.members(
      alertRules().flatMap(({ alert }) => alert ?? []),
    );
  });
});
