import { expect } from 'chai';
import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { freePort } from '../../local/process/server.js';
import { fixture } from '../support/fixture.js';
import { concurrently } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import { pausePostgres } from '../support/pause-postgres.js';
import { startEmbeddedProduct } from '../support/product.js';
import { startPrometheus } from '../support/prometheus.js';
import { receiverFixture } from '../support/receiver.js';
import { Bench, keyFixture } from './harness.js';
import { webhookCalls } from './webhooks-harness.js';

const metricsToken = 'a-token-for-the-scraper';

/** Repairs the fault. */
type Repair = () => unknown;

/** A fault, and the alerts that it causes. */
interface Fault {
  readonly alerts: readonly string[];
  readonly begin: () => Promise<Repair>;
}

/** Repeats requests until the repair, which waits for the requests in flight. */
const repeat = (request: () => Promise<unknown>, pauseMs: number): Repair => {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await request();
      await sleep(pauseMs);
    }
  };
  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
};

// ops/monitoring/alerts.test.yml tests the expression of every alert.
describe('product: alerts of Prometheus', function () {
  this.timeout(600_000);
  const bench = new Bench();
  const receiver = receiverFixture();
  fixture(
    async () => {
      const env = {
        ...{ METRICS_TOKEN: metricsToken, ADMIN_PORT: String(await freePort()) },
        WEBHOOK_NETWORKS: '127.0.0.0/8',
      };
      bench.use(await startEmbeddedProduct({ env }));
      return bench;
    },
    () => bench.end(),
  );
  const prometheus = fixture(
    () => startPrometheus({ admins: bench.product.admins, metricsToken }),
    (prometheus) => prometheus.stop(),
  );
  const owner = keyFixture(bench, 'PRO');
  const link = fixture(() => bench.link(owner.key));

  /** Causes the faults concurrently, and expects that their alerts fire, and end after the repair. */
  const expectAlerts = async (faults: readonly Fault[]): Promise<void> => {
    const names = faults.flatMap(({ alerts }) => alerts);
    const repairs: Repair[] = [];
    try {
      for (const { begin } of faults) repairs.push(await begin());
      await prometheus.untilFiring(names);
    } finally {
      for (const repair of repairs.reverse()) await repair();
    }
    await prometheus.untilEnded(names);
  };

  const execute = async (statement: string): Promise<void> => {
    await withLedger(bench.product, (pool) => pool.query(statement));
  };

  /** A session of an operator in the embedded PostgreSQL. */
  const connect = async (): Promise<pg.Client> => {
    const connectionString = (await runningPostgresUrl(bench.product.dataDir)) ?? '';
    const client = new pg.Client({ connectionString });
    await client.connect();
    return client;
  };

  /** A projection cannot apply an event, like a version with a defect. */
  const deadLetter: Fault = {
    alerts: ['LinklogDeadLetters'],
    async begin() {
      const table = 'projection_redirects.links';
      await execute(
        `ALTER TABLE ${table} ADD CONSTRAINT defect CHECK (subject <> 'defective') NOT VALID`,
      );
      await bench.link(owner.key, { alias: 'defective' });
      return async () => {
        await execute(`ALTER TABLE ${table} DROP CONSTRAINT defect`);
        const { status } = await bench.admin('POST', '/admin/projections/redirects/redrive');
        expect(status).to.be.oneOf([200, 202]);
      };
    },
  };

  /** Another client uses most connections of PostgreSQL. */
  const manyConnections: Fault = {
    alerts: ['LinklogPostgresConnections'],
    async begin() {
      const first = await connect();
      // Leaves room for the product.
      const { rows } = await first.query<{ others: number }>(
        `SELECT (0.93 * current_setting('max_connections')::int - sum(numbackends))::int AS others
         FROM pg_stat_database`,
      );
      const clients = [first];
      while (clients.length < (rows[0]?.others ?? 0)) clients.push(await connect());
      return () => Promise.all(clients.map((client) => client.end()));
    },
  };

  /** PostgreSQL's clock was an hour ahead, and went back. */
  const clockAhead: Fault = {
    alerts: ['LinklogClockAhead'],
    async begin() {
      await execute("UPDATE ledger.clock SET latest = clock_timestamp() + interval '1 hour'");
      return () => execute('UPDATE ledger.clock SET latest = clock_timestamp()');
    },
  };

  /** Another session locks a table of a projection. */
  const lockedProjection: Fault = {
    alerts: ['LinklogProjectionBehind'],
    async begin() {
      const client = await connect();
      await client.query('BEGIN');
      await client.query('LOCK TABLE projection_stats.links IN ACCESS EXCLUSIVE MODE');
      expect((await bench.visit(link.shortCode)).status).to.equal(302);
      return () => client.end();
    },
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

  /** Cached links redirect until the spool is full. */
  const stoppedPostgres: Fault = {
    alerts: ['LinklogDependencyDown', 'LinklogServerErrors', 'LinklogSpoolStalled'],
    async begin() {
      expect((await bench.visit(link.shortCode)).status).to.equal(302);
      const resume = await pausePostgres(bench.product);
      const visits = repeat(() => concurrently(200, () => bench.visit(link.shortCode)), 100);
      const calls = repeat(() => bench.api('/v2/usage', owner.key), 200);
      return async () => {
        await Promise.all([visits(), calls()]);
        resume();
      };
    },
  };

  it('fire while other services and sessions fail, and end after the repair', async () => {
    await expectAlerts([
      ...[deadLetter, clockAhead, manyConnections, lockedProjection, silentReceiver],
    ]);
  });

  it('fire while PostgreSQL is stopped, and end when it continues', async () => {
    await expectAlerts([stoppedPostgres]);
  });
});
