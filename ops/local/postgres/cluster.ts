import { randomBytes } from 'node:crypto';
import { chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { syncPath } from '../../platform/files/new-file.js';
import { runToSuccess, type Account } from '../process/child.js';
import { explainFailure, type Binaries } from './binaries.js';
import { superuser, type ClusterLayout } from './layout.js';

const writeSecret = async (path: string, content: string): Promise<void> => {
  // Removed first, because the mode applies to a new file only.
  await rm(path, { force: true });
  await writeFile(path, content, { flag: 'wx', mode: 0o600, flush: true });
};

/**
 * Creates the cluster in a temporary directory and renames it when it is complete and on disk, so that a kill leaves no
 * partial cluster.
 */
export const createCluster = async (
  layout: ClusterLayout,
  account: Account | null,
  { initdb }: Binaries,
  logger: Logger,
): Promise<void> => {
  const startedAt = performance.now();
  const password = randomBytes(24).toString('base64url');
  // initdb reads a copy as PostgreSQL's account, which must not read the original.
  const passwordForInitdb = join(layout.home, 'password.initdb');
  await writeSecret(layout.password, password);
  await writeSecret(passwordForInitdb, password);
  try {
    await mkdir(layout.unfinished, { mode: 0o700 });
    if (account !== null) {
      await chown(passwordForInitdb, account.uid, account.gid);
      await chown(layout.unfinished, account.uid, account.gid);
    }
    const args = [
      `--pgdata=${layout.unfinished}`,
      `--username=${superuser}`,
      `--pwfile=${passwordForInitdb}`,
      '--encoding=UTF8',
      '--locale=C',
      '--auth=scram-sha-256',
      '--no-instructions',
    ];
    await runToSuccess(account, initdb, args, {
      // The next start finds an orphaned initdb by its working directory.
      dir: layout.unfinished,
      failure: 'PostgreSQL could not create its data directory',
      explain: (error) => explainFailure(initdb, error),
    });
  } finally {
    await rm(passwordForInitdb, { force: true });
  }
  await rename(layout.unfinished, layout.cluster);
  await syncPath(layout.home);
  const ms = Math.round(performance.now() - startedAt);
  logger.info({ cluster: layout.cluster, ms }, 'new PostgreSQL cluster created');
};
