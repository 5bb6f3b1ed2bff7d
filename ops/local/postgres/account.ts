import { chmod, chown, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode, nullOn } from '../../platform/errors.js';
import type { Logger } from '../../platform/logging.js';
import { runProgram, runToSuccess, type Account } from '../process/child.js';
import { ServerUnavailable } from '../process/errors.js';
import { explainFailure } from './binaries.js';
import type { ClusterLayout } from './layout.js';

/** Reads /etc/passwd, because minimal systems lack `getent` and `id`. */
const findAccount = async (wanted: string): Promise<Account | null> => {
  const passwd = await readFile('/etc/passwd', 'utf8');
  for (const line of passwd.split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name === wanted && Number(uid) !== 0) return { uid: Number(uid), gid: Number(gid) };
  }
  return null;
};

/** The dedicated account of a PostgreSQL that root starts. */
const accountName = 'linklog-postgres';

/** Runs `useradd`, which may be missing or unable to write `/etc`. @returns its error output */
const createAccount = async (): Promise<string> => {
  const program = '/usr/sbin/useradd';
  const options = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin'];
  const run = await nullOn(
    runProgram(null, program, [...options, accountName]),
    'ENOENT',
    'EACCES',
  );
  return run?.stderr.trim() ?? `${program} cannot be run`;
};

/**
 * Returns the account of the cluster's processes. PostgreSQL refuses to run as root; started by root, it runs as the
 * owner of the cluster.
 *
 * @returns null if it is this process's own user, or there is no cluster
 * @throws ServerUnavailable if the cluster belongs to another user
 */
export const postgresAccount = async (layout: ClusterLayout): Promise<Account | null> => {
  const own = process.getuid?.();
  const owner = await nullOn<Account>(stat(layout.cluster), 'ENOENT').catch((error: unknown) => {
    throw hasCode(error, 'EACCES') ? notOwned(layout, 'another user', error) : error;
  });
  if (owner === null) return null;
  if (own !== 0) {
    if (owner.uid !== own) throw notOwned(layout, `user ${owner.uid}`);
    return null;
  }
  if (owner.uid === 0) throw notOwned(layout, 'root, but PostgreSQL cannot run as root');
  return { uid: owner.uid, gid: owner.gid };
};

/**
 * Chooses the account of a PostgreSQL that root starts: the cluster's owner, or a dedicated account for a new cluster
 * or a cluster of `nobody`. Other services run as `nobody` too, so it is used only if no account can be created.
 *
 * @param owner of the cluster, from `postgresAccount`
 * @returns null for this process's own user
 * @throws ServerUnavailable if there is no such account
 */
export const chooseAccount = async (
  owner: Account | null,
  logger: Logger,
): Promise<Account | null> => {
  if (process.getuid?.() !== 0) return null;
  const shared = await findAccount('nobody');
  if (owner !== null && owner.uid !== shared?.uid) return owner;
  const existing = await findAccount(accountName);
  if (existing !== null) return existing;
  const reason = await createAccount();
  const account = await findAccount(accountName);
  if (account !== null) return account;
  if (shared === null) {
    throw new ServerUnavailable(
      `The embedded PostgreSQL cannot run as root, and the user ${accountName} cannot be created; start Linklog as another user, or set DATABASE_URL`,
    );
  }
  logger.warn(
    { reason },
    `postgres runs as uid ${shared.uid}, like other services, which can read its files; create a user ${accountName}`,
  );
  return shared;
};

const notOwned = (layout: ClusterLayout, owner: string, cause?: unknown): ServerUnavailable =>
  new ServerUnavailable(
    `${layout.home} belongs to ${owner}; start Linklog as its owner, or set another DATA_DIR`,
    { cause },
  );

const groupBits = 0o070;

/** The directory and its ancestors, the root first. */
const pathTo = (dir: string): string[] => {
  const parent = dirname(dir);
  return parent === dir ? [dir] : [...pathTo(parent), dir];
};

/** Returns the first directory of the path that the account cannot traverse. A shell of that account tries them. */
const firstBarrier = async (account: Account, dir: string): Promise<string | null> => {
  const script = 'for dir; do cd "$dir" || { printf %s "$dir"; exit 1; }; done';
  try {
    const { stdout } = await runProgram(account, '/bin/sh', ['-c', script, 'sh', ...pathTo(dir)]);
    return stdout === '' ? null : stdout;
  } catch (error) {
    throw await explainFailure('/bin/sh', error);
  }
};

const barred = async (dataDir: string, barrier: string): Promise<ServerUnavailable> => {
  const mode = ((await stat(barrier)).mode & 0o7777).toString(8).padStart(4, '0');
  return new ServerUnavailable(
    `DATA_DIR ${dataDir}: the embedded PostgreSQL cannot traverse ${barrier} (mode ${mode}); ` +
      'set DATA_DIR to another directory, for example /var/lib/linklog, or set DATABASE_URL',
  );
};

/** Grants PostgreSQL's group the right to traverse a directory, but not to list it. */
const grantTraversal = async (dir: string, { gid }: Account): Promise<void> => {
  const { uid, mode } = await stat(dir);
  await chown(dir, uid, gid);
  await chmod(dir, (mode & 0o7777 & ~groupBits) | 0o010);
};

/**
 * Creates `<dataDir>/postgres`, lets PostgreSQL's account traverse the data directory, and changes the owner of the
 * cluster, which is not in use, to it. Ancestors of the data directory are never changed.
 *
 * @param owner the current owner of the cluster; `null` if there is no cluster
 * @throws ServerUnavailable that names the directory that PostgreSQL cannot traverse
 */
export const makeHome = async (
  layout: ClusterLayout,
  account: Account | null,
  owner: Account | null,
): Promise<void> => {
  const { dataDir, home } = layout;
  if (account === null) {
    await mkdir(home, { mode: 0o700, recursive: true });
    return;
  }
  const barrier = await firstBarrier(account, dataDir);
  if (barrier !== null) {
    const { gid, mode } = await stat(barrier);
    // Another group with rights on the directory would lose them.
    const groupIsFree = (mode & groupBits) === 0 || [0, account.gid, owner?.gid].includes(gid);
    if (barrier !== dataDir || !groupIsFree) throw await barred(dataDir, barrier);
    await grantTraversal(dataDir, account);
    const remaining = await firstBarrier(account, dataDir);
    if (remaining !== null) throw await barred(dataDir, remaining);
  }
  await mkdir(home, { mode: 0o700, recursive: true });
  const { uid } = await stat(home);
  if (uid !== account.uid) {
    // Root owns the directory: PostgreSQL's account must not control the files that root reads and writes there.
    await chown(home, 0, account.gid);
    await chmod(home, 0o710);
  }
  if (owner === null || owner.uid === account.uid) return;
  // `chown -R` changes a directory after its content, so the old owner still owns the cluster after a kill.
  const args = ['-hR', `--from=${owner.uid}`, `${account.uid}:${account.gid}`, layout.cluster];
  await runToSuccess(null, 'chown', args, {
    failure: "the owner of PostgreSQL's data could not be changed",
    explain: (error) => error,
  });
};
