import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { migrate } from '../../migrations/migrate.js';
import { createLogger } from '../../platform/logging.js';
import { createPool } from '../../platform/postgres/pool.js';

/** The environment variable that names the data directory of `makeClusterTemplate`. */
export const templateVariable = 'LINKLOG_TEST_CLUSTER';

const logger = createLogger('silent');

/** The template database with all migrations. */
export const migratedDatabase = 'migrated';

/** Creates the template database if it does not exist. */
export const createMigratedDatabase = async (serverUrl: string): Promise<void> => {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const existing = await client.query('SELECT FROM pg_database WHERE datname = $1', [
      migratedDatabase,
    ]);
    if (existing.rowCount === 1) return;
    await client.query(`CREATE DATABASE ${migratedDatabase}`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${migratedDatabase}`;
  const patient = { name: 'test', max: 2, deadlines: 'patient', logger } as const;
  const pool = createPool({ url: url.href, ...patient });
  await migrate(pool);
  // PostgreSQL cannot copy a database with connections.
  await pool.end();
};

/** Creates a data directory with a new PostgreSQL cluster, for `copyClusterTemplate`. */
export const createClusterTemplate = async (dataDir: string): Promise<void> => {
  const postgres = await startEmbeddedPostgres({ dataDir, logger });
  await createMigratedDatabase(postgres.url);
  await postgres.stop();
};

/**
 * Copies the cluster of the template into a data directory without a cluster: initdb needs more than 1 s of CPU time,
 * the copy 0.1 s. Does nothing if the directory does not exist, or if there is no template.
 */
export const copyClusterTemplate = async (dataDir: string): Promise<void> => {
  const template = process.env[templateVariable];
  if (template === undefined || !existsSync(dataDir)) return;
  if (existsSync(path.join(dataDir, 'postgres'))) return;
  // `fs.cp` does not preserve the owner: if this process is root, PostgreSQL runs as another user.
  await promisify(execFile)('cp', ['-a', path.join(template, 'postgres'), dataDir]);
};
