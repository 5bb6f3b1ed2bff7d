import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { v7 } from 'uuid';
import { hasCode } from '../../ops/platform/errors.js';
import { acquireLock, type ProcessLock } from '../../ops/platform/process/process-lock.js';
import { syncFolder } from './segment.js';

/** Counters since the start of the process, for metrics. */
export const newCounters = () => ({
  /** Visits made durable. */
  appended: 0,
  /** Visits refused with `SpoolUnavailable`. */
  refused: 0,
  /** Records appended to the log, including those of adopted spools. */
  shipped: 0,
  /** Failed attempts to append a batch. */
  shipFailures: 0,
  /** Adopted folders of ended processes. */
  adopted: 0,
  /** Segments with damaged bytes, which were set aside. */
  damaged: 0,
});

/** Dependencies of all parts of an edge's spool. */
export interface SpoolContext {
  readonly counters: ReturnType<typeof newCounters>;
  readonly logger: Logger;
}

/** The visit is not written, so it must not be redirected. A retry, possibly at another edge, can succeed. */
export class SpoolUnavailable extends Error {
  /**
   * @param code `SPOOL_FULL`: the spool of this edge has reached its size limit, because the log has been unreachable
   *   for long. `SPOOL_WRITE_FAILED`: the file system failed (no space, I/O error), with its error as `cause`.
   *   `SPOOL_STOPPED`: this edge is shutting down.
   */
  constructor(
    readonly code: 'SPOOL_FULL' | 'SPOOL_WRITE_FAILED' | 'SPOOL_STOPPED',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Called with `null` when a visit is durable, or with the failure. */
export type Done = (failure: SpoolUnavailable | null) => void;

/** The folder of one spool, locked by this process. */
export interface SpoolFolder {
  readonly id: string;
  readonly path: string;
  readonly lock: ProcessLock;
}

const maxAttempts = 5;

/** Creates and locks a new spool folder. */
export const createSpoolFolder = async (root: string, fsync: boolean): Promise<SpoolFolder> => {
  await mkdir(root, { recursive: true, mode: 0o700 });
  for (let attempt = 1; ; attempt += 1) {
    const id = v7();
    const path = join(root, id);
    await mkdir(path, { mode: 0o700 });
    try {
      const lock = await acquireLock(path);
      if (fsync) [root, dirname(root)].forEach(syncFolder);
      return { id, path, lock };
    } catch (error) {
      // Another edge may have deleted the empty folder as that of an ended process.
      if (!hasCode(error, 'LOCK_HELD', 'ENOENT') || attempt === maxAttempts) throw error;
    }
  }
};

const newFolderMs = 60_000;

/** Whether a folder is so new that its owner may not have locked it yet. */
export const isNew = async (path: string): Promise<boolean> => {
  const { mtimeMs } = await stat(path);
  return Math.abs(Date.now() - mtimeMs) < newFolderMs;
};

/** Unlocks a folder, so that another process can ship it. */
export const releaseFolder = (folder: SpoolFolder, logger: Logger): void => {
  try {
    folder.lock.release();
  } catch (error) {
    // The lock ends with this process.
    logger.warn({ err: error, folder: folder.path }, 'a spool folder cannot be unlocked');
  }
};

/**
 * Unlocks and deletes a folder whose records are all shipped. The lock is a file in the folder, so it is released
 * first. An edge that locks the folder in between finds nothing to ship and deletes it, too.
 */
export const discardFolder = async (folder: SpoolFolder, logger: Logger): Promise<void> => {
  try {
    folder.lock.release();
  } catch (error) {
    logger.debug({ err: error, folder: folder.path }, 'a spool folder was deleted with its lock');
  }
  try {
    await rm(folder.path, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 });
  } catch (error) {
    // All its records are in the log. The next scan of an edge tries again.
    logger.warn({ err: error, folder: folder.path }, 'an empty spool folder cannot be deleted');
  }
};
