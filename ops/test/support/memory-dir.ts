import { accessSync, constants } from 'node:fs';
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { nullOn, nullOnThrow } from '../../platform/errors.js';

const memory = '/dev/shm';

/** Twice what all tests at once have in their folders. */
const enoughBytes = 8 * 1_024 ** 3;

/** A container may mount it for data only. */
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
 * Makes the temporary folders of this process and its children in memory, where there is room: new databases are many
 * small files, and putting them on a disk for certain takes more time than most tests.
 *
 * @returns how to remove what was left there
 */
export const keepTemporaryInMemory = async (): Promise<() => Promise<void>> => {
  const nothing = (): Promise<void> => Promise.resolve();
  const there = await nullOn(statfs(memory), 'ENOENT');
  if (there === null) return nothing;
  if (Math.min(there.bavail * there.bsize, process.availableMemory()) < enoughBytes) return nothing;
  const dir = await mkdtemp(path.join(memory, 'linklog-'));
  const remove = (): Promise<void> => rm(dir, { recursive: true, force: true });
  if (!(await mayRunPrograms(dir))) {
    await remove();
    return nothing;
  }
  // As /tmp: some tests run as other users.
  await chmod(dir, 0o1777);
  process.env['TMPDIR'] = dir;
  return remove;
};
