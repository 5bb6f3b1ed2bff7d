import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';

/** The environment variable that names the data directory of `makeClusterTemplate`. */
export const templateVariable = 'LINKLOG_TEST_CLUSTER';

/** Makes a data directory whose new PostgreSQL cluster other data directories can begin with. */
export const makeClusterTemplate = async (dataDir: string): Promise<void> => {
  const postgres = await startEmbeddedPostgres({ dataDir, logger: createLogger('silent') });
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
