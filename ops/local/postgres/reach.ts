import { chmod, chown, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Account } from './account.js';
import { ServerUnavailable } from './errors.js';
import { explainSpawnError } from './explain.js';
import type { Layout } from './layout.js';
import { run } from './run.js';

const groupBits = 0o070;

/** The directory and all above it, the uppermost first. */
const path = (dir: string): string[] => {
  const above = dirname(dir);
  return above === dir ? [dir] : [...path(above), dir];
};

/** The first directory on the way that the account cannot pass, found by walking there as that account. */
const firstBarrier = async (account: Account, dir: string): Promise<string | null> => {
  const script = 'for dir; do cd "$dir" || { printf %s "$dir"; exit 1; }; done';
  try {
    const { stdout } = await run(account, '/bin/sh', ['-c', script, 'sh', ...path(dir)]);
    return stdout === '' ? null : stdout;
  } catch (error) {
    throw await explainSpawnError('/bin/sh', error);
  }
};

const barred = async (dataDir: string, barrier: string): Promise<ServerUnavailable> => {
  const mode = ((await stat(barrier)).mode & 0o7777).toString(8).padStart(4, '0');
  return new ServerUnavailable(
    `DATA_DIR ${dataDir}: the embedded PostgreSQL cannot pass ${barrier} (mode ${mode}); ` +
      'set DATA_DIR to a place it can reach, for example /var/lib/linklog, or set DATABASE_URL',
  );
};

/** Lets PostgreSQL's group pass a directory, and no one list it. */
const letPass = async (dir: string, { gid }: Account): Promise<void> => {
  const { uid, mode } = await stat(dir);
  await chown(dir, uid, gid);
  await chmod(dir, (mode & 0o7777 & ~groupBits) | 0o010);
};

/**
 * Makes `<dataDir>/postgres`, and a way there for PostgreSQL's account. Only the data directory itself
 * is changed for it, never one above, which is not ours.
 *
 * @throws ServerUnavailable naming the directory that PostgreSQL cannot pass
 */
export const makeHome = async (layout: Layout, account: Account | null): Promise<void> => {
  const { dataDir, home } = layout;
  if (account === null) {
    await mkdir(home, { mode: 0o700, recursive: true });
    return;
  }
  const barrier = await firstBarrier(account, dataDir);
  if (barrier !== null) {
    const { gid, mode } = await stat(barrier);
    // A group that may already do something here would lose it.
    const groupIsFree = (mode & groupBits) === 0 || gid === 0 || gid === account.gid;
    if (barrier !== dataDir || !groupIsFree) throw await barred(dataDir, barrier);
    await letPass(dataDir, account);
    const still = await firstBarrier(account, dataDir);
    if (still !== null) throw await barred(dataDir, still);
  }
  await mkdir(home, { mode: 0o700, recursive: true });
  const { uid } = await stat(home);
  if (uid !== account.uid) {
    // Ours, not PostgreSQL's: what root reads and writes there must not be in the hands of `nobody`.
    await chown(home, 0, account.gid);
    await chmod(home, 0o710);
  }
};
