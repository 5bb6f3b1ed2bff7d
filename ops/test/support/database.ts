import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { copyClusterTemplate } from './cluster.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../local/postgres/index.js';
import { migrate } from '../../migrations/migrate.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';

export interface TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  /** Ends the pool and drops the database; fails when another connection to it was left open. */
  drop(): Promise<void>;
}

interface TestServer {
  readonly postgres: EmbeddedPostgres;
  readonly dataDir: string;
}

const logger = createLogger('silent');

// One for all files of a mocha process, and none for a process of unit tests.
let starting: Promise<TestServer> | null = null;
let databases = 0;

/** A PostgreSQL of its own; `env` is all that it gets of an environment. */
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

/** A new database, with what a `template` has; on the server of this process unless told. */
const newDatabase = async (
  name: string,
  ofServer?: TestServer,
  template?: string,
): Promise<TestDatabase> => {
  const server = ofServer ?? (await (starting ??= startTestServer()));
  databases += 1;
  const database = pg.escapeIdentifier(`${name}_${databases}`);
  const from = template === undefined ? '' : ` TEMPLATE ${pg.escapeIdentifier(template)}`;
  const url = new URL(await administer(server, `CREATE DATABASE ${database}${from}`));
  url.pathname = `/${name}_${databases}`;
  const pool = createPool({ url: url.href, name: 'test', max: 8, logger });
  return {
    url: url.href,
    pool,
    async drop() {
      await pool.end();
      await administer(server, `DROP DATABASE ${database}`);
    },
  };
};

/** A new database without tables, on the server of this process unless told; `name` is of letters. */
export const emptyDatabase = (name: string, ofServer?: TestServer): Promise<TestDatabase> =>
  newDatabase(name, ofServer);

/** The databases with all migrations, by the server: a copy of one takes a tenth of their CPU. */
const migrated = new WeakMap<TestServer, Promise<string>>();

const migrateOnce = async (server: TestServer): Promise<string> => {
  const name = 'migrated';
  const url = new URL(await administer(server, `CREATE DATABASE ${name}`));
  url.pathname = `/${name}`;
  // A busy machine takes its time for a new database.
  const patient = { name: 'test', max: 2, deadlines: 'patient', logger } as const;
  const pool = createPool({ url: url.href, ...patient });
  await migrate(pool);
  // A database with a connection cannot be copied.
  await pool.end();
  return name;
};

/** What migrations draw by lot, and no two installations share. */
const renew = `UPDATE log.identity SET id = gen_random_uuid();
  UPDATE ledger.client_hash_key SET key = sha256(uuid_send(gen_random_uuid()));
  UPDATE ledger.copy_key SET key = sha256(uuid_send(gen_random_uuid()))`;

/** A new database with all migrations applied, for one test file; `name` is of letters. */
export const testDatabase = async (name: string, ofServer?: TestServer): Promise<TestDatabase> => {
  const server = ofServer ?? (await (starting ??= startTestServer()));
  const known = migrated.get(server) ?? migrateOnce(server);
  migrated.set(server, known);
  const database = await newDatabase(name, server, await known);
  await database.pool.query(renew);
  return database;
};

/** Stops the server, if any test started it. */
export const stopTestServer = async (): Promise<void> => {
  if (starting === null) return;
  await endTestServer(await starting);
};
