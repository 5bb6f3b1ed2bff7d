import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { atEnd } from './at-end.js';
import { copyClusterTemplate, createMigratedDatabase, migratedDatabase } from './cluster.js';
import { layoutOf, readPostmasterPid } from '../../local/postgres/layout.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';

export interface TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  /** Ends the pool and drops the database; fails if another connection is open. */
  drop(): Promise<void>;
}

interface TestServer {
  readonly postgres: EmbeddedPostgres;
  readonly dataDir: string;
}

const logger = createLogger('silent');

// Shared by all files of a mocha process.
let starting: Promise<TestServer> | null = null;
let databases = 0;

/** Starts a PostgreSQL; `env` replaces its environment. */
export const startTestServer = async (
  env?: Readonly<Record<string, string>>,
): Promise<TestServer> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'linklog-test-'));
  await copyClusterTemplate(dataDir);
  return {
    dataDir,
    postgres: await startEmbeddedPostgres({ dataDir, logger, ...(env && { env }) }),
  };
};

export const endTestServer = async ({ postgres, dataDir }: TestServer): Promise<void> => {
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
};

const administer = async ({ postgres }: TestServer, statement: string): Promise<string> => {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
  return postgres.url;
};

const startOwnServer = async (): Promise<TestServer> => {
  const server = await startTestServer();
  const postmaster = await readPostmasterPid(layoutOf(server.dataDir));
  const quit = (): void => {
    if (postmaster) process.kill(postmaster.pid, 'SIGQUIT');
  };
  process.once('exit', quit);
  atEnd(async () => {
    process.off('exit', quit);
    await endTestServer(server);
  });
  return server;
};

/** The server of this mocha process. */
const ownServer = (): Promise<TestServer> => (starting ??= startOwnServer());

const newDatabase = async (
  server: TestServer,
  name: string,
  template: string,
): Promise<TestDatabase> => {
  databases += 1;
  const database = pg.escapeIdentifier(`${name}_${databases}`);
  const url = new URL(await administer(server, `CREATE DATABASE ${database} TEMPLATE ${template}`));
  url.pathname = `/${name}_${databases}`;
  // A busy machine needs more than the seconds of a service.
  const pool = createPool({ url: url.href, name: 'test', max: 8, deadlines: 'patient', logger });
  return {
    url: url.href,
    pool,
    async drop() {
      await pool.end();
      await administer(server, `DROP DATABASE ${database}`);
    },
  };
};

/** A new database without tables, by default on the server of this process; `name` consists of letters. */
export const emptyDatabase = async (name: string, server?: TestServer): Promise<TestDatabase> =>
  newDatabase(server ?? (await ownServer()), name, 'template1');

// A copy of a migrated database is faster than the migrations.
const migrated = new WeakMap<TestServer, Promise<void>>();

/** Replaces the random values of the migrations, which differ between installations. */
const replaceRandomValues = `UPDATE log.identity SET id = gen_random_uuid();
  UPDATE ledger.client_hash_key SET key = sha256(uuid_send(gen_random_uuid()));
  UPDATE ledger.share_key SET key = sha256(uuid_send(gen_random_uuid()));
  UPDATE ledger.copy_key SET key = sha256(uuid_send(gen_random_uuid()))`;

/** A new database with all migrations; `name` consists of letters. */
export const testDatabase = async (name: string, server?: TestServer): Promise<TestDatabase> => {
  const target = server ?? (await ownServer());
  const migrating = migrated.get(target) ?? createMigratedDatabase(target.postgres.url);
  migrated.set(target, migrating);
  await migrating;
  const database = await newDatabase(target, name, migratedDatabase);
  await database.pool.query(replaceRandomValues);
  return database;
};
