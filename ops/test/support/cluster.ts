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

/** The database of a server that has all migrations, for others to be copied from. */
export const migratedDatabase = 'migrated';

/** Makes that database, unless it is there. */
export const createMigratedDatabase = async (serverUrl: string): Promise<void> => {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const known = await client.query('SELECT FROM pg_database WHERE datname = $1', [
      migratedDatabase,
    ]);
    if (known.rowCount === 1) return;
    await client.query(`CREATE DATABASE ${migratedDatabase}`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${migratedDatabase}`;
  // A busy machine takes its time for a new database.
  const patient = { name: 'test', max: 2, deadlines: 'patient', logger } as const;
  const pool = createPool({ url: url.href, ...patient });
  await migrate(pool);
  // A database with a connection cannot be copied.
  await pool.end();
};

/** Makes a data directory whose new PostgreSQL cluster other data directories can begin with. */
export const createClusterTemplate = async (dataDir: string): Promise<void> => {
  const postgres = await startEmbeddedPostgres({ dataDir, logger });
  await createMigratedDatabase(postgres.url);
  await postgres.stop();
};

/**
 * Copies the template's cluster into a data directory that has none: initdb takes more than 1 s of CPU, a
 * copy 0.1 s. Does nothing where the directory does not exist, or where a test file runs without a template.
 */
export const copyClusterTemplate = async (dataDir: string): Promise<void> => {
  const template = process.env[templateVariable];
  if (template === undefined || !existsSync(dataDir)) return;
  if (existsSync(path.join(dataDir, 'postgres'))) return;
  // `cp -a` and not `fs.cp`, which does not keep the owner: as root, PostgreSQL runs as another user.
  await promisify(execFile)('cp', ['-a', path.join(template, 'postgres'), dataDir]);
};
