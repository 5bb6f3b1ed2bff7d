import { mkdir, readdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode, nullOn } from '../../platform/errors.js';
import type { Logger } from '../../platform/logging.js';
import { serviceDirs } from './topology.js';

/**
 * Moves the spools that an earlier version kept in the directories of its edges to `root`, where any edge adopts them,
 * also those of an edge that is no longer started. No edge may run.
 */
export const gatherSpools = async (
  dataDir: string,
  root: string,
  logger: Logger,
): Promise<void> => {
  for (const dir of serviceDirs(dataDir)) {
    const old = join(dir, 'spool');
    const names = await nullOn(readdir(old), 'ENOENT');
    if (names === null || old === root) continue;
    await mkdir(root, { recursive: true, mode: 0o700 });
    try {
      for (const name of names) await rename(join(old, name), join(root, name));
      await rmdir(old);
      logger.info({ from: old, to: root, names }, 'spools moved to their new folder');
    } catch (err) {
      if (!hasCode(err, 'EXDEV')) throw err;
      logger.warn(
        { err, from: old },
        'spools on another disk: ship them with "linklog spool ship"',
      );
    }
  }
};
