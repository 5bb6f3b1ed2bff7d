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

const start = async (): Promise<TestServer> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'linklog-test-'));
  await copyClusterTemplate(dataDir);
  return { dataDir, postgres: await startEmbeddedPostgres({ dataDir, logger }) };
};

const administer = async (statement: string): Promise<string> => {
  starting ??= start();
  const { postgres } = await starting;
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
  return postgres.url;
};

/** A new database with all migrations applied, for one test file; `name` is of letters. */
export const testDatabase = async (name: string): Promise<TestDatabase> => {
  databases += 1;
  const database = pg.escapeIdentifier(`${name}_${databases}`);
  const server = await administer(`CREATE DATABASE ${database}`);
  const url = new URL(server);
  url.pathname = `/${name}_${databases}`;
  const pool = createPool({ url: url.href, name: 'test', max: 8, logger });
  await migrate(pool);
  return {
    url: url.href,
    pool,
    async drop() {
      await pool.end();
      await administer(`DROP DATABASE ${database}`);
    },
  };
};

/** Stops the server, if any test started it. */
export const stopTestServer = async (): Promise<void> => {
  if (starting === null) return;
  const { postgres, dataDir } = await starting;
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
};
