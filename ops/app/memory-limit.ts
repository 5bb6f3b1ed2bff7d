import type { Logger } from '../platform/logging.js';

/** What everything in one process, its PostgreSQL and a command beside them need. */
const neededBytes = 384 * 1_024 ** 2;

/** Warns if the container has less memory than everything in one process needs: the kernel may kill its programs. */
export const warnOfMemoryLimit = (logger: Logger, limit = process.constrainedMemory()): void => {
  // 0: the limit is unknown.
  if (limit === 0 || limit >= neededBytes) return;
  logger.warn(
    { limit, needed: neededBytes },
    'the memory limit is too small for everything in one process',
  );
};
