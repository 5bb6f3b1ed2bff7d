import pg from 'pg';
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { topics } from '../../../schemas/events/topics.js';
import { blocked, created, recordOf } from '../../../schemas/testing/events.js';
import { openKafkaLog } from '../../event-log/kafka/kafka-log.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { freePort } from '../../local/process/server.js';
import { createLogger } from '../../platform/logging.js';
import { pausePostgres } from '../../tools/cli/testing/spool-ship.suite.js';
import { settingsOf } from '../conformance/event-log/kafka-harness.js';
import { fixture } from '../support/fixture.js';
import { folderFixture } from '../support/fixtures.js';
import { concurrently } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import type { TestKafka } from '../support/kafka.js';
import { startEmbeddedProduct } from '../support/product.js';
import { startPrometheus, type Prometheus } from '../support/prometheus.js';
import { Bench } from './harness.js';

/** Of the products whose alerts are tested. */
export const metricsToken = 'a-token-for-the-scraper';

/** Repairs the fault. */
type Repair = () => unknown;

/** A fault, and the alerts that it causes. */
export interface Fault {
  readonly alerts: readonly string[];
  readonly begin: () => Promise<Repair>;
}

/** Causes the faults concurrently, and expects that their alerts fire, and end after the repair. */
export const expectAlerts = async (
  prometheus: Prometheus,
  faults: readonly Fault[],
): Promise<readonly string[]> => {
  const names = faults.flatMap(({ alerts }) => alerts);
  const repairs: Repair[] = [];
  try {
    for (const { begin } of faults) repairs.push(await begin());
    await prometheus.untilFiring(names);
  } finally {
    for (const repair of repairs.reverse()) await repair();
  }
  await prometheus.untilEnded(names);
  return names;
};

const execute = async ({ product }: Bench, ...statements: readonly string[]): Promise<void> => {
  await withLedger(product, async (pool) => {
    for (const statement of statements) await pool.query(statement);
  });
};

/** A session of an operator in the embedded PostgreSQL. */
const connect = async ({ product }: Bench): Promise<pg.Client> => {
  const client = new pg.Client({
    connectionString: (await runningPostgresUrl(product.dataDir)) ?? '',
  });
  await client.connect();
  return client;
};

/** A statement that takes effect until the session ends. */
const inTransaction = async (bench: Bench, statement: string): Promise<Repair> => {
  const client = await connect(bench);
  await client.query('BEGIN');
  await client.query(statement);
  return () => client.end();
};

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

/** A projection cannot apply an event, like a version with a defect. */
export const deadLetter = (bench: Bench, key: string): Fault => ({
  alerts: ['LinklogDeadLetters'],
  async begin() {
    const table = 'projection_redirects.links';
    await execute(
      bench,
      `ALTER TABLE ${table} ADD CONSTRAINT defect CHECK (subject <> 'defective') NOT VALID`,
    );
    await bench.link(key, { alias: 'defective' });
    return async () => {
      await execute(bench, `ALTER TABLE ${table} DROP CONSTRAINT defect`);
      const { status } = await bench.admin('POST', '/admin/projections/redirects/redrive');
      expect(status).to.be.oneOf([200, 202]);
    };
  },
});

/** Kafka has lost the second event of a link. The embedded log cannot: a transaction writes it with the ledger. */
export const missingEvent = (bench: Bench, kafka: TestKafka): Fault => ({
  alerts: ['LinklogMissingEvents'],
  async begin() {
    const logger = createLogger('silent');
    const log = openKafkaLog({ settings: settingsOf(kafka), logger });
    await log.append(topics.links.name, [created('lost'), blocked('lost', 3)].map(recordOf));
    await log.close();
    return () =>
      execute(bench, "DELETE FROM projection_history.missing_events WHERE subject = 'lost'");
  },
});

/** Another client uses most connections of PostgreSQL. */
export const manyConnections = (bench: Bench): Fault => ({
  alerts: ['LinklogPostgresConnections'],
  async begin() {
    const first = await connect(bench);
    // Leaves room for the product.
    const { rows } = await first.query<{ others: number }>(
      `SELECT (0.93 * current_setting('max_connections')::int - sum(numbackends))::int AS others
       FROM pg_stat_database`,
    );
    const clients = [first];
    while (clients.length < (rows[0]?.others ?? 0)) clients.push(await connect(bench));
    return () => Promise.all(clients.map((client) => client.end()));
  },
});

/** PostgreSQL's clock was an hour ahead, and went back. */
export const clockAhead = (bench: Bench): Fault => ({
  alerts: ['LinklogClockAhead'],
  async begin() {
    await execute(bench, "UPDATE ledger.clock SET latest = clock_timestamp() + interval '1 hour'");
    return () => execute(bench, 'UPDATE ledger.clock SET latest = clock_timestamp()');
  },
});

/** Another session locks a table of a projection. */
export const lockedProjection = (bench: Bench, shortCode: string): Fault => ({
  alerts: ['LinklogProjectionBehind'],
  async begin() {
    const unlock = await inTransaction(
      bench,
      'LOCK TABLE projection_stats.links IN ACCESS EXCLUSIVE MODE',
    );
    expect((await bench.visit(shortCode)).status).to.equal(302);
    return unlock;
  },
});

/** Another session locks a table that requests read. */
export const lockedTable = (bench: Bench, key: string): Fault => ({
  alerts: ['LinklogPoolExhausted'],
  async begin() {
    const unlock = await inTransaction(
      bench,
      'LOCK TABLE projection_redirects.links IN ACCESS EXCLUSIVE MODE',
    );
    const stop = repeat(() => concurrently(40, () => bench.api('/v2/links', key)), 0);
    return async () => {
      await unlock();
      await stop();
    };
  },
});

/** PostgreSQL is stopped. Cached links redirect until the spool is full. */
export const stoppedPostgres = (
  bench: Bench,
  key: string,
  shortCode: string,
  alerts: readonly string[],
): Fault => ({
  alerts,
  async begin() {
    expect((await bench.visit(shortCode)).status).to.equal(302);
    const resume = await pausePostgres(bench.product);
    const visits = repeat(() => concurrently(200, () => bench.visit(shortCode)), 100);
    const calls = repeat(() => bench.api('/v2/usage', key), 200);
    return async () => {
      await Promise.all([visits(), calls()]);
      resume();
    };
  },
});

/** The process is stopped. */
export const stoppedProcess = (bench: Bench): Fault => ({
  alerts: ['LinklogDown'],
  begin() {
    process.kill(bench.product.pid, 'SIGSTOP');
    return Promise.resolve(() => process.kill(bench.product.pid, 'SIGCONT'));
  },
});

/** The process gets a third of the CPU time, like a throttled container. */
export const throttledProcess = (bench: Bench): Fault => ({
  alerts: ['LinklogEventLoopDelay'],
  begin() {
    const { pid } = bench.product;
    return Promise.resolve(
      repeat(async () => {
        process.kill(pid, 'SIGSTOP');
        await sleep(400);
        process.kill(pid, 'SIGCONT');
      }, 200),
    );
  },
});

/** A product in one process, also on `LINKLOG_TEST_ON=stack`, and Prometheus with its alerts. */
export const alertsProduct = (
  env: () => Record<string, string> | Promise<Record<string, string>> = () => ({}),
) => {
  const bench = new Bench();
  const folder = folderFixture();
  const listener = fixture(async () => ({ port: await freePort() }));
  /** Prometheus finds the product again after a restart. */
  const start = async (): Promise<void> => {
    const common = { METRICS_TOKEN: metricsToken, ADMIN_PORT: String(listener.port) };
    const options = { env: { ...(await env()), ...common }, dataDir: folder.path };
    bench.use(await startEmbeddedProduct(options));
  };
  fixture(
    async () => {
      await start();
      return bench;
    },
    () => bench.end(),
  );
  const prometheus = fixture(
    () => startPrometheus({ admins: bench.product.admins, metricsToken }),
    (prometheus) => prometheus.stop(),
    { needs: ['prometheus'] },
  );
  return { bench, start, prometheus };
};
