import { randomBytes } from 'node:crypto';
import { chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { syncPath } from '../../platform/files/new-file.js';
import { runToSuccess, type Account } from '../process/child.js';
import { explainFailure, type Binaries } from './binaries.js';
import { superuser, type ClusterLayout } from './layout.js';

const writeSecret = async (path: string, content: string): Promise<void> => {
  // Removed first: the mode below holds for a new file only.
  await rm(path, { force: true });
  await writeFile(path, content, { flag: 'wx', mode: 0o600, flush: true });
};

/**
 * Makes the cluster beside its place and moves it there when it is complete and on disk; a kill at any
 * moment leaves no half-made one.
 */
export const createCluster = async (
  layout: ClusterLayout,
  account: Account | null,
  { initdb }: Binaries,
  logger: Logger,
): Promise<void> => {
  const begin = performance.now();
  const password = randomBytes(24).toString('base64url');
  // PostgreSQL's account must read it once; the one that is kept is ours.
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
      // By its current directory a next start finds an initdb that outlived us.
      dir: layout.unfinished,
      failure: 'PostgreSQL could not make its data directory',
      explain: (error) => explainFailure(initdb, error),
    });
  } finally {
    await rm(passwordForInitdb, { force: true });
  }
  await rename(layout.unfinished, layout.cluster);
  await syncPath(layout.home);
  const ms = Math.round(performance.now() - begin);
  logger.info({ cluster: layout.cluster, ms }, 'new PostgreSQL cluster made');
};
