import { readFile, stat } from 'node:fs/promises';
import { ServerUnavailable } from './errors.js';
import { hasCode } from '../../platform/errors.js';
import type { Layout } from './layout.js';

/** Whom PostgreSQL's programs run as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const ownerOf = async (path: string): Promise<Account | null> => {
  try {
    return await stat(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
};

/** Read from the file itself: `getent` and `id` are not on every minimal system. */
const nobody = async (): Promise<Account> => {
  const passwd = await readFile('/etc/passwd', 'utf8');
  for (const line of passwd.split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name === 'nobody' && Number(uid) !== 0) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new ServerUnavailable(
    'The embedded PostgreSQL cannot run as root, and there is no user "nobody" here to run it as; start Linklog as another user, or set DATABASE_URL',
  );
};

/**
 * PostgreSQL refuses to run as root, so there it runs as whoever the cluster belongs to already, or
 * else as `nobody`.
 *
 * @returns null where it runs as this process's own user
 * @throws ServerUnavailable when there is nobody it could run as
 */
export const postgresAccount = async (layout: Layout): Promise<Account | null> => {
  const own = process.getuid?.();
  let owner: Account | null;
  try {
    owner = await ownerOf(layout.cluster);
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error;
    throw notOurs(layout, 'another user', error);
  }
  if (own !== 0) {
    if (owner !== null && owner.uid !== own) throw notOurs(layout, `user ${owner.uid}`);
    return null;
  }
  if (owner === null) return nobody();
  if (owner.uid === 0) throw notOurs(layout, 'root, as whom PostgreSQL does not run');
  return { uid: owner.uid, gid: owner.gid };
};

const notOurs = (layout: Layout, whose: string, cause?: unknown): ServerUnavailable =>
  new ServerUnavailable(
    `${layout.home} belongs to ${whose}; start Linklog as the user who made it, or give it another DATA_DIR`,
    { cause },
  );
