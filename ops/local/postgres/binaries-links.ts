import { lstat, readFile, symlink } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { hasCode } from '../../platform/errors.js';

/** A link beside the library it leads to. npm packages cannot hold links: a script makes them at install. */
export interface Link {
  readonly path: string;
  readonly target: string;
}

/** `source` is the library and `target` the link, both relative to the package. */
const listed = z.array(z.object({ source: z.string(), target: z.string() }));

const linksOf = async (packageDir: string): Promise<Link[]> => {
  let content: string;
  try {
    content = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8');
  } catch (error) {
    // A platform's package without the list needs none.
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
  return listed.parse(JSON.parse(content)).map(({ source, target }) => {
    const path = join(packageDir, target);
    if (!path.startsWith(join(packageDir, 'native') + sep))
      throw new Error(`pg-symlinks.json of ${packageDir} names ${target}, outside of the package`);
    return { path, target: relative(dirname(target), source) };
  });
};

const isThere = async (path: string): Promise<boolean> => {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
};

/** The links that `npm install --ignore-scripts` left out; `packageDir` holds `native`. */
export const missingLinks = async (packageDir: string): Promise<Link[]> => {
  const links = await linksOf(packageDir);
  const there = await Promise.all(links.map(({ path }) => isThere(path)));
  return links.filter((_, index) => there[index] === false);
};

/** @returns false where the place may not be written */
export const restoreLinks = async (links: readonly Link[]): Promise<boolean> => {
  for (const { path, target } of links) {
    try {
      await symlink(target, path);
    } catch (error) {
      if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false;
      // EEXIST: another process makes them too.
      if (!hasCode(error, 'EEXIST')) throw error;
    }
  }
  return true;
};
