import { chmod, copyFile, mkdir, readdir, readlink, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { missingLinks, restoreLinks } from './binaries-links.js';
import { provideInCache, sync } from './cache.js';
import type { NativePackage } from './native-package.js';

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

/**
 * A copy of the package's programs in `place`, made now or before.
 *
 * @returns its `native` folder, or null where `place` may not be written or cannot be trusted
 */
export const placeCopy = async (
  place: string,
  installed: NativePackage,
  logger: Logger,
): Promise<string | null> => {
  const fill = async (dir: string): Promise<void> => {
    await copyTree(join(installed.dir, 'native'), join(dir, 'native'));
    await restoreLinks(await missingLinks(dir));
  };
  const name = `postgres-${installed.version}-${installed.platform}`;
  const copy = await provideInCache(place, name, fill, logger);
  return copy === null ? null : join(copy, 'native');
};
