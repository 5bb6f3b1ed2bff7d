import { chmod, lstat, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { hasCode } from '../../platform/errors.js';
import { pathExists, syncPath } from '../../platform/files/new-file.js';

const notTrusted = 'other users can write to the directory; no programs are run from it';
const partialPrefix = '.partial-';
const abandonedMs = 3_600_000;

/** The directory of cached programs: the system's cache for root, otherwise the user's; null if the user has none. */
export const cacheDir = (): string | null => {
  if (process.getuid?.() === 0) return '/var/cache/linklog';
  try {
    return join(userInfo().homedir, '.cache', 'linklog');
  } catch (error) {
    // The uid of a container may have no entry in /etc/passwd.
    if (hasCode(error, 'ERR_SYSTEM_ERROR', 'ENOENT')) return null;
    throw error;
  }
};

/** We run programs of the directory, so only this user may be able to write to it. */
const isTrusted = async (dir: string): Promise<boolean> => {
  const found = await lstat(dir);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
};

const removeAbandoned = async (cache: string): Promise<void> => {
  for (const name of await readdir(cache)) {
    if (!name.startsWith(partialPrefix)) continue;
    const path = join(cache, name);
    const age = Date.now() - (await stat(path)).mtimeMs;
    if (age > abandonedMs) await rm(path, { recursive: true, force: true });
  }
};

const createEntry = async (
  cache: string,
  target: string,
  fill: (dir: string) => Promise<void>,
): Promise<void> => {
  await removeAbandoned(cache);
  const partial = await mkdtemp(join(cache, partialPrefix));
  try {
    await fill(partial);
    await chmod(partial, 0o755);
    await rename(partial, target);
    // The name of an entry implies its complete content, also after a power loss.
    await syncPath(cache);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    // Another process has created the same entry.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  }
};

/**
 * Returns a directory of programs in `cache`, which `fill` fills if it is missing. It is created atomically.
 *
 * @returns null if `cache` is not writable or cannot be trusted
 */
export const provideInCache = async (
  cache: string,
  name: string,
  fill: (dir: string) => Promise<void>,
  logger: Logger,
): Promise<string | null> => {
  const target = join(cache, name);
  try {
    const isNew = (await mkdir(cache, { recursive: true, mode: 0o755 })) !== undefined;
    if (isNew) await chmod(cache, 0o755);
    if (!(await isTrusted(cache))) {
      logger.warn({ cache }, notTrusted);
      return null;
    }
    if (!(await pathExists(target))) await createEntry(cache, target, fill);
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST')) throw error;
    logger.debug({ cache, err: error }, 'the cache directory is not writable');
    return null;
  }
  if (await isTrusted(target)) return target;
  logger.warn({ target }, notTrusted);
  return null;
};
