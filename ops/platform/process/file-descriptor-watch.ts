import { readdir } from 'node:fs/promises';
import { periodically } from '../concurrency/periodic.js';
import { hasCode } from '../errors.js';
import type { Logger } from '../logging.js';
import { fileDescriptorLimit } from './file-descriptors.js';

/** How often the open ones are counted (ms). */
const countEveryMs = 5_000;

/** The share of the limit from which the log has a line. */
const highShare = 0.9;

/** Logs that few file descriptors are left: libuv closes new connections without an error while none is. */
export const watchFileDescriptors = (logger: Logger, limit = fileDescriptorLimit()): void => {
  if (limit === null) return;
  let isHigh = false;
  const countOpen = async (): Promise<number> => {
    try {
      return (await readdir('/proc/self/fd')).length;
    } catch (error) {
      if (hasCode(error, 'EMFILE', 'ENFILE')) return limit;
      throw error;
    }
  };
  periodically({
    name: 'count file descriptors',
    everyMs: countEveryMs,
    async task() {
      const open = await countOpen();
      if (open > highShare * limit !== isHigh) {
        isHigh = !isHigh;
        if (isHigh)
          logger.error(
            { open, limit },
            'few file descriptors are left: new connections may be closed',
          );
        else logger.info({ open, limit }, 'enough file descriptors are left again');
      }
    },
    logger,
  });
};
