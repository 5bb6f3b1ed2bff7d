import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { projectFile } from '../../platform/files/project-file.js';

/** Runs the commands of containers.md that create the folder `secrets`, in `dir`. */
export const createComposeSecrets = async (dir: string): Promise<void> => {
  const page = await readFile(projectFile('ops', 'docs', 'containers.md'), 'utf8');
  const [commands] = /^\(mkdir -m 700 secrets [^]*?\n\)$/m.exec(page) ?? [];
  if (commands === undefined) throw new Error('containers.md has no commands for secrets');
  await promisify(execFile)('bash', ['-euc', commands], { cwd: dir });
};
