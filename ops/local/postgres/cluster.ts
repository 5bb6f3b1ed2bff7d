import { randomBytes } from 'node:crypto';
import { chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { syncPath } from '../../platform/files/new-file.js';
import { run, type Account, type Ended } from '../process/child.js';
import { ServerFailed } from '../process/errors.js';
import { lastLines } from '../process/log-file.js';
import { explainExit, explainSpawnError, type Binaries } from './binaries.js';
import { superuser, type Layout } from './layout.js';

const writeSecret = async (path: string, content: string): Promise<void> => {
  // Removed first: the mode below holds for a new file only.
  await rm(path, { force: true });
  await writeFile(path, content, { flag: 'wx', mode: 0o600, flush: true });
};

const initdb = async (
  layout: Layout,
  account: Account | null,
  binaries: Binaries,
  passwordFile: string,
): Promise<Ended> => {
  try {
    return await run(
      account,
      binaries.initdb,
      [
        `--pgdata=${layout.unfinished}`,
        `--username=${superuser}`,
        `--pwfile=${passwordFile}`,
        '--encoding=UTF8',
        '--locale=C',
        '--auth=scram-sha-256',
        '--no-instructions',
      ],
      // By its current directory a next start finds an initdb that outlived us.
      { dir: layout.unfinished },
    );
  } catch (error) {
    throw await explainSpawnError(binaries.initdb, error);
  }
};

/**
 * Makes the cluster beside its place and moves it there when it is complete and on disk; a kill at any
 * moment leaves no half-made one.
 */
export const createCluster = async (
  layout: Layout,
  account: Account | null,
  binaries: Binaries,
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
    const { exitCode, stdout, stderr } = await initdb(layout, account, binaries, passwordForInitdb);
    if (exitCode !== 0) {
      throw (
        explainExit(exitCode, stderr) ??
        new ServerFailed('PostgreSQL could not make its data directory', {
          output: lastLines(`${stdout}\n${stderr}`),
        })
      );
    }
  } finally {
    await rm(passwordForInitdb, { force: true });
  }
  await rename(layout.unfinished, layout.cluster);
  await syncPath(layout.home);
  const ms = Math.round(performance.now() - begin);
  logger.info({ cluster: layout.cluster, ms }, 'new PostgreSQL cluster made');
};
