import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const findRoot = (folder: string): string =>
  existsSync(path.join(folder, 'package.json')) ? folder : findRoot(path.dirname(folder));

const root = findRoot(import.meta.dirname);

/** The absolute path of a file that is no code (SQL, data): those are not copied to `dist`. */
export const projectFile = (...parts: readonly string[]): string => path.join(root, ...parts);

/** This Linklog's version. */
export const linklogVersion = (): string =>
  z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(projectFile('package.json'), 'utf8'))).version;
