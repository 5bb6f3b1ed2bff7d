import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { missingLinks, restoreLinks } from './binaries-links.js';
import { hasCode } from './errors.js';
import type { NativePackage } from './native-package.js';

const partialPrefix = '.partial-';
const abandonedMs = 3_600_000;

const isThere = async (path: string): Promise<boolean> => {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
};

/** Root would run what is in it, so nobody else may have put it there. */
const isTrusted = async (dir: string): Promise<boolean> => {
  const found = await lstat(dir);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
};

/** Modes are set by hand: neither the package's nor our umask may keep PostgreSQL's account out. */
const copyTree = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else {
      await copyFile(source, target);
      await chmod(target, ((await stat(source)).mode & 0o100) === 0 ? 0o644 : 0o755);
      await sync(target);
    }
  }
};

/** The copy is never looked at again once it has its name, so it must not lose content to a power loss. */
const sync = async (path: string): Promise<void> => {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
};

const removeAbandoned = async (place: string): Promise<void> => {
  for (const name of await readdir(place)) {
    if (!name.startsWith(partialPrefix)) continue;
    const path = join(place, name);
    const age = Date.now() - (await stat(path)).mtimeMs;
    if (age > abandonedMs) await rm(path, { recursive: true, force: true });
  }
};

const makeCopy = async (place: string, target: string, installed: NativePackage): Promise<void> => {
  await removeAbandoned(place);
  const partial = await mkdtemp(join(place, partialPrefix));
  try {
    await copyTree(join(installed.dir, 'native'), join(partial, 'native'));
    await restoreLinks(await missingLinks(partial));
    await chmod(partial, 0o755);
    await rename(partial, target);
    await sync(place);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    // Another process was faster; the copies are equal.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  }
};

/**
 * A copy of the package's programs in `place`, made now or before; it appears complete or not at all.
 *
 * @returns its `native` folder, or null where `place` may not be written or cannot be trusted
 */
export const placeCopy = async (
  place: string,
  installed: NativePackage,
  logger: Logger,
): Promise<string | null> => {
  const target = join(place, `postgres-${installed.version}-${installed.platform}`);
  try {
    const isNew = (await mkdir(place, { recursive: true, mode: 0o755 })) !== undefined;
    if (isNew) await chmod(place, 0o755);
    if (!(await isTrusted(place))) {
      logger.warn({ place }, 'Others could write here: not used for the programs of PostgreSQL');
      return null;
    }
    if (!(await isThere(target))) await makeCopy(place, target, installed);
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST')) throw error;
    logger.debug({ place, err: error }, 'No place for the programs of PostgreSQL');
    return null;
  }
  if (await isTrusted(target)) return join(target, 'native');
  logger.warn({ target }, 'Others could write here: not used for the programs of PostgreSQL');
  return null;
};
