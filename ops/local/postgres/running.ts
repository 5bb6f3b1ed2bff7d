import { realpath } from 'node:fs/promises';
import { postgresAccount } from './account.js';
import { readPassword } from './cluster.js';
import { hasCode } from '../../platform/errors.js';
import { connectionUrl, layoutOf } from './layout.js';
import { postgresPids } from './orphans.js';
import { readPostmasterPid } from './postmaster-pid.js';

/**
 * Where the PostgreSQL of this data directory answers now, for command-line tools of the same user.
 *
 * @returns a URL with the superuser's password, or null when it is not running (or not ready yet)
 * @throws ServerUnavailable, or the system's EACCES, when the directory is another user's
 */
export const runningPostgresUrl = async (dataDir: string): Promise<string | null> => {
  let layout;
  try {
    layout = layoutOf(await realpath(dataDir));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
  const account = await postgresAccount(layout);
  const recorded = await readPostmasterPid(layout);
  if (!recorded?.isReady) return null;
  // The file outlives a kill, and its pid may be another process's by now.
  if (!(await postgresPids(layout, account)).includes(recorded.pid)) return null;
  const password = await readPassword(layout);
  return password === null ? null : connectionUrl(recorded.port, password);
};
