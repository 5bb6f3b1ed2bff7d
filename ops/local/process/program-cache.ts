import { chmod, lstat, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { hasCode } from '../../platform/errors.js';
import { pathExists, syncPath } from '../../platform/files/new-file.js';

const partialPrefix = '.partial-';
const abandonedMs = 3_600_000;

/** Where programs are kept that every start can use: the system's cache for root, or the user's. */
export const cachePlace = (): string | null => {
  if (process.getuid?.() === 0) return '/var/cache/linklog';
  try {
    return join(userInfo().homedir, '.cache', 'linklog');
  } catch (error) {
    // A container may run as a uid that has no entry in /etc/passwd, and so no home.
    if (hasCode(error, 'ERR_SYSTEM_ERROR', 'ENOENT')) return null;
    throw error;
  }
};

/** We run the programs in it, so nobody else may have put them there. */
const isTrusted = async (dir: string): Promise<boolean> => {
  const found = await lstat(dir);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
};

const removeAbandoned = async (place: string): Promise<void> => {
  for (const name of await readdir(place)) {
    if (!name.startsWith(partialPrefix)) continue;
    const path = join(place, name);
    const age = Date.now() - (await stat(path)).mtimeMs;
    if (age > abandonedMs) await rm(path, { recursive: true, force: true });
  }
};

const makeEntry = async (
  place: string,
  target: string,
  fill: (dir: string) => Promise<void>,
): Promise<void> => {
  await removeAbandoned(place);
  const partial = await mkdtemp(join(place, partialPrefix));
  try {
    await fill(partial);
    await chmod(partial, 0o755);
    await rename(partial, target);
    // An entry is not checked again once it has its name: a power loss must not take its content.
    await syncPath(place);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    // Another process was faster; what they made is equal.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  }
};

/**
 * A folder of programs in `place`, filled now or before; it appears complete or not at all.
 *
 * @returns null where `place` may not be written or cannot be trusted
 */
export const provideInCache = async (
  place: string,
  name: string,
  fill: (dir: string) => Promise<void>,
  logger: Logger,
): Promise<string | null> => {
  const target = join(place, name);
  try {
    const isNew = (await mkdir(place, { recursive: true, mode: 0o755 })) !== undefined;
    if (isNew) await chmod(place, 0o755);
    if (!(await isTrusted(place))) {
      logger.warn({ place }, 'others can write here: not used for programs');
      return null;
    }
    if (!(await pathExists(target))) await makeEntry(place, target, fill);
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST')) throw error;
    logger.debug({ place, err: error }, 'programs cannot be kept here');
    return null;
  }
  if (await isTrusted(target)) return target;
  logger.warn({ target }, 'others can write here: not used for programs');
  return null;
};
