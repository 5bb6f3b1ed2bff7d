import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const findRoot = (folder: string): string =>
  existsSync(path.join(folder, 'package.json')) ? folder : findRoot(path.dirname(folder));

const root = findRoot(import.meta.dirname);

/** Returns the absolute path of a file that is not copied to `dist`, such as SQL or data. */
export const projectFile = (...parts: readonly string[]): string => path.join(root, ...parts);

export const linklogVersion = (): string =>
  z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(projectFile('package.json'), 'utf8'))).version;
