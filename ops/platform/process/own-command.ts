import { realpathSync } from 'node:fs';
import path from 'node:path';
import { nullOnThrow } from '../errors.js';
import { projectFile } from '../files/project-file.js';

interface Invocation {
  /** The path of the started program, as it was given. */
  readonly program: string;
  readonly workingDir: string;
  readonly root: string;
  /** Folders of the default PATH. */
  readonly binDirs: readonly string[];
}

const thisProcess = (): Invocation => ({
  program: process.argv[1] ?? '',
  workingDir: process.cwd(),
  root: projectFile(),
  binDirs: ['/usr/local/bin', '/usr/bin'],
});

const isWithin = (root: string, folder: string): boolean => {
  const relative = path.relative(root, folder);
  return relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
};

/** A word for a shell. */
export const quoted = (word: string): string =>
  /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/**
 * The command line of this installation, as a user can type it where this process was started: `linklog` if that is
 * installed, `npx linklog` in the folder of the project, otherwise `node` with the file. Elsewhere, npx would install
 * a package of another project.
 */
export const linklogCommand = (invocation: Invocation = thisProcess()): string => {
  const { program, workingDir, root, binDirs } = invocation;
  const mainFile = path.join(root, 'dist/ops/tools/cli/main.js');
  const isOwn = (file: string): boolean =>
    path.basename(file) === 'linklog' &&
    !isWithin(root, file) &&
    nullOnThrow(() => realpathSync(file), 'ENOENT', 'ENOTDIR', 'EACCES') === mainFile;
  if ([program, ...binDirs.map((folder) => path.join(folder, 'linklog'))].some(isOwn)) {
    return 'linklog';
  }
  return isWithin(root, workingDir) ? 'npx linklog' : `node ${quoted(mainFile)}`;
};
