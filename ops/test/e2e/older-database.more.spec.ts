import { expect } from 'chai';
import pg from 'pg';
import { kafkaStartMs } from '../support/kafka.js';
import { launch } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { within } from '../support/waiting.js';
import { Bench } from './harness.js';
import { databaseFixture, folderFixture, kafkaFixture } from '../support/fixtures.js';
import { fixture } from '../support/fixture.js';

const refusal =
  /^linklog: PostgreSQL is older than the log in Kafka: it does not know linklog\.LinkCreated\.v\d of late .*\n$/;

describe('product: PostgreSQL older than its Kafka', function () {
  this.timeout(120_000);
  const bench = new Bench();
  const kafka = kafkaFixture('older');
  const server = databaseFixture('older');
  const admin = fixture(
    () => new pg.Client({ connectionString: server.url }),
    (admin) => admin.end(),
  );
  const dataDir = folderFixture();
  const databases: string[] = [];

  before(async function () {
    this.timeout(kafkaStartMs);
    await admin.connect();
  });
  after(async () => {
    await bench.product.cleanup();
    for (const name of databases) await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  });

  const environment = (database: string): Record<string, string> => {
    const url = new URL(server.url);
    url.pathname = `/${database}`;
    return {
      DATABASE_URL: url.href,
      KAFKA_BROKERS: kafka.brokers,
      KAFKA_TOPIC_PREFIX: kafka.prefix,
    };
  };
  const create = async (name: string, template = 'template1'): Promise<void> => {
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
    databases.push(name);
  };
  const start = async (): Promise<void> => {
    bench.use(await startEmbeddedProduct({ dataDir: dataDir.path, env: environment('of_today') }));
  };

  /** Replaces the database by the snapshot and terminates its connections. */
  const restoreSnapshot = async (): Promise<void> => {
    await admin.query('ALTER DATABASE of_today WITH ALLOW_CONNECTIONS false');
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'of_today'`,
    );
    await admin.query('ALTER DATABASE of_today RENAME TO of_before');
    await admin.query('ALTER DATABASE snapshot RENAME TO of_today');
    databases.push('of_before');
    databases.splice(databases.indexOf('snapshot'), 1);
  };

  it('stops a running service with one line and exit code 78, and prevents its start', async () => {
    await create('of_today');
    await start();
    const { key } = await bench.key('PRO');
    await bench.link(key, { alias: 'early' });
    await bench.product.stop();

    await create('snapshot', 'of_today');
    await start();
    await bench.link(key, { alias: 'late', url: 'https://example.com/first-owner' });
    const { ended } = bench.product;
    await restoreSnapshot();
    const end = await within(60_000, 'the service ends', ended);
    expect(end.exitCode).to.equal(78);
    expect(end.stderr).to.contain('linklog: PostgreSQL is older than the log in Kafka');

    const next = await launch({ DATA_DIR: dataDir.path, ...environment('of_today') }).ended;
    expect(next).to.include({ exitCode: 78, stdout: '' });
    expect(next.stderr).to.match(refusal);
  });
});
