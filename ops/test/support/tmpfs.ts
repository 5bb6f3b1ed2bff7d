import { execFile, spawnSync } from 'node:child_process';
import { chmod, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '../../platform/errors.js';
import { temporaryDir } from './process.js';

const run = promisify(execFile);

/** Sizes of writes that fill a disk to its last block. */
const chunks = [1_024 * 1_024, 4_096, 1];

/** Mounts a small disk in memory, which a test can fill. Needs root. */
export const mountTmpfs = async (mebibytes: number) => {
  const dir = await temporaryDir();
  await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', dir]);
  // PostgreSQL runs as another user.
  await chmod(dir, 0o755);
  const unmountAtExit = (): void => {
    spawnSync('umount', ['--lazy', dir]);
  };
  process.once('exit', unmountAtExit);
  const filler = path.join(dir, 'filler');
  return {
    dir,
    /** Fills the disk, until `deleteFiller`. */
    async fill(): Promise<void> {
      const file = await open(filler, 'a');
      try {
        for (const size of chunks) {
          const chunk = Buffer.alloc(size);
          for (;;) {
            try {
              await file.write(chunk);
            } catch (error) {
              if (!hasCode(error, 'ENOSPC')) throw error;
              break;
            }
          }
        }
      } finally {
        await file.close();
      }
    },
    deleteFiller: () => rm(filler, { force: true }),
    async unmount(): Promise<void> {
      process.off('exit', unmountAtExit);
      await run('umount', [dir]);
      await rm(dir, { recursive: true });
    },
  };
};

export type Tmpfs = Awaited<ReturnType<typeof mountTmpfs>>;
