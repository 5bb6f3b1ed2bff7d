import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { v7 } from 'uuid';
import { hasCode } from '../../ops/platform/errors.js';
import { acquireLock, type ProcessLock } from '../../ops/platform/process/process-lock.js';
import { syncFolder } from './segment.js';

/** What has happened since the process started; only ever rises. For metrics. */
export const newCounters = () => ({
  /** Visits made durable. */
  appended: 0,
  /** Visits refused with `SpoolUnavailable`. */
  refused: 0,
  /** Records handed to the log, adopted ones included. */
  shipped: 0,
  /** Failed tries to hand over a batch. */
  shipFailures: 0,
  /** Folders of ended processes, taken over. */
  adopted: 0,
  /** Segments with an unreadable rest, which was put aside. */
  damaged: 0,
});

export type SpoolCounters = ReturnType<typeof newCounters>;

/** What the parts of an edge's spool share. */
export interface SpoolContext {
  readonly counters: SpoolCounters;
  readonly logger: Logger;
}

/** One spool's folder, locked by this process. */
export interface SpoolFolder {
  readonly id: string;
  readonly path: string;
  readonly lock: ProcessLock;
}

const tries = 5;

/** Makes a new spool folder, locked. */
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
      // Another edge may take an empty folder for that of an ended process, and delete it.
      if (!hasCode(error, 'LOCK_HELD', 'ENOENT') || attempt === tries) throw error;
    }
  }
};

const newbornMs = 60_000;

/** Whether a folder was made so lately that its owner may not have locked it yet. */
export const isNewborn = async (path: string): Promise<boolean> => {
  const { mtimeMs } = await stat(path);
  return Math.abs(Date.now() - mtimeMs) < newbornMs;
};

/** Unlocks a folder that others are to ship. */
export const leaveFolder = (folder: SpoolFolder, logger: Logger): void => {
  try {
    folder.lock.release();
  } catch (error) {
    // The lock ends with this process at the latest.
    logger.warn({ err: error, folder: folder.path }, 'a spool folder cannot be unlocked');
  }
};

/**
 * Unlocks a folder whose records are all shipped, and deletes it. In this order, because the lock
 * is a file in it. An edge that locks it in between finds nothing to ship and does the same; then
 * the lock of one may go with the other's deletion, and the later one deletes the folder.
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
    // It holds nothing that is not in the log; the next scan of some edge tries again.
    logger.warn({ err: error, folder: folder.path }, 'an empty spool folder cannot be deleted');
  }
};
