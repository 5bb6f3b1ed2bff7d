import { chmod, chown, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode, nullOn } from '../../platform/errors.js';
import type { Logger } from '../../platform/logging.js';
import { runProgram, runToSuccess, type Account } from '../process/child.js';
import { ServerUnavailable } from '../process/errors.js';
import { explainFailure } from './binaries.js';
import type { ClusterLayout } from './layout.js';

/** Read from the file itself: `getent` and `id` are not on every minimal system. */
const accountNamed = async (wanted: string): Promise<Account | null> => {
  const passwd = await readFile('/etc/passwd', 'utf8');
  for (const line of passwd.split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name === wanted && Number(uid) !== 0) return { uid: Number(uid), gid: Number(gid) };
  }
  return null;
};

/** PostgreSQL's own where root starts it: no other service runs as this account. */
const ownName = 'linklog-postgres';

/** Makes it. @returns what `useradd` said; not every minimal system has one, nor an `/etc` to write to */
const makeOwnAccount = async (): Promise<string> => {
  const program = '/usr/sbin/useradd';
  const options = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin'];
  const made = await nullOn(runProgram(null, program, [...options, ownName]), 'ENOENT', 'EACCES');
  return made === null ? `${program} cannot be run` : made.stderr.trim();
};

/**
 * As whom the cluster's processes run: PostgreSQL refuses to run as root, and started by root it runs as
 * the owner of the cluster.
 *
 * @returns null where they run as this process's own user, or there is no cluster
 * @throws ServerUnavailable where the cluster is another user's
 */
export const postgresAccount = async (layout: ClusterLayout): Promise<Account | null> => {
  const own = process.getuid?.();
  const owner = await nullOn<Account>(stat(layout.cluster), 'ENOENT').catch((error: unknown) => {
    throw hasCode(error, 'EACCES') ? notOurs(layout, 'another user', error) : error;
  });
  if (owner === null) return null;
  if (own !== 0) {
    if (owner.uid !== own) throw notOurs(layout, `user ${owner.uid}`);
    return null;
  }
  if (owner.uid === 0) throw notOurs(layout, 'root, as whom PostgreSQL does not run');
  return { uid: owner.uid, gid: owner.gid };
};

/**
 * The account to start PostgreSQL as where root starts it: the cluster's owner; an account of its own
 * where there is no cluster yet, or where that is `nobody`'s. Other services run as `nobody` too, so it is
 * taken only where no account can be made.
 *
 * @param owner of the cluster, by `postgresAccount`
 * @returns null where it runs as this process's own user
 * @throws ServerUnavailable where there is no such account
 */
export const chooseAccount = async (
  owner: Account | null,
  logger: Logger,
): Promise<Account | null> => {
  if (process.getuid?.() !== 0) return null;
  const shared = await accountNamed('nobody');
  if (owner !== null && owner.uid !== shared?.uid) return owner;
  const known = await accountNamed(ownName);
  if (known !== null) return known;
  const reason = await makeOwnAccount();
  const account = await accountNamed(ownName);
  if (account !== null) return account;
  if (shared === null) {
    throw new ServerUnavailable(
      `The embedded PostgreSQL cannot run as root, and there is no user "${ownName}" nor "nobody" here to run it as; start Linklog as another user, or set DATABASE_URL`,
    );
  }
  logger.warn(
    { reason },
    `PostgreSQL runs as nobody, as other services do, which can read its files: make a user ${ownName}`,
  );
  return shared;
};

const notOurs = (layout: ClusterLayout, whose: string, cause?: unknown): ServerUnavailable =>
  new ServerUnavailable(
    `${layout.home} belongs to ${whose}; start Linklog as the user who made it, or give it another DATA_DIR`,
    { cause },
  );

const groupBits = 0o070;

/** The directory and all above it, the uppermost first. */
const pathTo = (dir: string): string[] => {
  const above = dirname(dir);
  return above === dir ? [dir] : [...pathTo(above), dir];
};

/** The first directory on the way that the account cannot pass, found by trying it as that account. */
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
    `DATA_DIR ${dataDir}: the embedded PostgreSQL cannot pass ${barrier} (mode ${mode}); ` +
      'set DATA_DIR to a place it can reach, for example /var/lib/linklog, or set DATABASE_URL',
  );
};

/** Lets PostgreSQL's group pass a directory, and no one list it. */
const letTraverse = async (dir: string, { gid }: Account): Promise<void> => {
  const { uid, mode } = await stat(dir);
  await chown(dir, uid, gid);
  await chmod(dir, (mode & 0o7777 & ~groupBits) | 0o010);
};

/**
 * Makes `<dataDir>/postgres`, and a way there for PostgreSQL's account, and gives it the cluster, which
 * nobody uses now. Only the data directory itself is changed for it, never one above, which is not ours.
 *
 * @param owner of the cluster until now; `null`: there is none
 * @throws ServerUnavailable naming the directory that PostgreSQL cannot pass
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
    // Another group that has rights here would lose them.
    const groupIsFree = (mode & groupBits) === 0 || [0, account.gid, owner?.gid].includes(gid);
    if (barrier !== dataDir || !groupIsFree) throw await barred(dataDir, barrier);
    await letTraverse(dataDir, account);
    const still = await firstBarrier(account, dataDir);
    if (still !== null) throw await barred(dataDir, still);
  }
  await mkdir(home, { mode: 0o700, recursive: true });
  const { uid } = await stat(home);
  if (uid !== account.uid) {
    // Root's, not PostgreSQL's: that account must not control what root reads and writes there.
    await chown(home, 0, account.gid);
    await chmod(home, 0o710);
  }
  if (owner === null || owner.uid === account.uid) return;
  // It changes a folder after what is in it: after a kill, the cluster is still the old owner's.
  const args = ['-hR', `--from=${owner.uid}`, `${account.uid}:${account.gid}`, layout.cluster];
  await runToSuccess(null, 'chown', args, {
    failure: "PostgreSQL's data could not be given to its new user",
    explain: (error) => error,
  });
};
