import { existsSync } from 'node:fs';
import path from 'node:path';

const findRoot = (folder: string): string =>
  existsSync(path.join(folder, 'package.json')) ? folder : findRoot(path.dirname(folder));

const root = findRoot(import.meta.dirname);

/** The absolute path of a file that is no code (SQL, data): those are not copied to `dist`. */
export const projectFile = (...parts: readonly string[]): string => path.join(root, ...parts);
