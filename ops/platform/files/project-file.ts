import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const findRoot = (folder: string): string =>
  existsSync(path.join(folder, 'package.json')) ? folder : findRoot(path.dirname(folder));

const root = findRoot(import.meta.dirname);

/** Returns the absolute path of a file that is not copied to `dist`, such as SQL or data. */
export const projectFile = (...parts: readonly string[]): string => path.join(root, ...parts);

/** The version of package.json: that of a release, or between releases, that of the next one with `-dev`. */
export const packageVersion = (): string =>
  z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(projectFile('package.json'), 'utf8'))).version;

/** The version of this build, between releases with its commit: `0.3.0-dev+1a2b3c4d`. */
export const linklogVersion = (): string => {
  const built = projectFile('dist', 'version');
  return existsSync(built) ? readFileSync(built, 'utf8') : packageVersion();
};
