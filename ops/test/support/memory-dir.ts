import { accessSync, constants } from 'node:fs';
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { nullOn, nullOnThrow } from '../../platform/errors.js';

const memory = '/dev/shm';

/** Twice the size of the temporary files of a full run. */
const enoughBytes = 8 * 1_024 ** 3;

/** A container may mount /dev/shm with noexec. */
const mayRunPrograms = async (dir: string): Promise<boolean> => {
  const program = path.join(dir, 'program');
  await writeFile(program, '', { mode: 0o755 });
  const runs = nullOnThrow(() => {
    accessSync(program, constants.X_OK);
    return true;
  }, 'EACCES');
  await rm(program);
  return runs ?? false;
};

/**
 * Moves the temporary folders of this process and its children to memory, if there is enough: fsync of the many small
 * files of new databases would take more time than most tests.
 *
 * @returns a function that deletes the folder
 */
export const keepTemporaryInMemory = async (): Promise<() => Promise<void>> => {
  const nothing = (): Promise<void> => Promise.resolve();
  const stats = await nullOn(statfs(memory), 'ENOENT');
  if (stats === null) return nothing;
  if (Math.min(stats.bavail * stats.bsize, process.availableMemory()) < enoughBytes) return nothing;
  const dir = await mkdtemp(path.join(memory, 'linklog-'));
  const remove = (): Promise<void> => rm(dir, { recursive: true, force: true });
  if (!(await mayRunPrograms(dir))) {
    await remove();
    return nothing;
  }
  // Like /tmp: some tests run as other users.
  await chmod(dir, 0o1777);
  process.env['TMPDIR'] = dir;
  return remove;
};
