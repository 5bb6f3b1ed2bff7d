import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { acquireLock } from '../../ops/platform/process/process-lock.js';
import { discardFolder, releaseFolder, type SpoolContext, type SpoolFolder } from './folder.js';
import { maxRecordBytes, recordAt, recordsIn } from './record.js';
import {
  listSegments,
  openPosition,
  readPosition,
  type Segment,
  type ShippedPosition,
} from './segment.js';
import { Backlog, type Shipper } from './shipper.js';

const chunkBytes = 8 * maxRecordBytes;

/** The end of the complete records from `offset` on, and the number of their visits. */
const findEnd = async (
  handle: FileHandle,
  offset: number,
): Promise<{ end: number; visits: number }> => {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  let end = offset;
  let visits = 0;
  for (;;) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, end);
    let bytes = 0;
    for (const record of recordsIn(chunk.subarray(0, bytesRead))) {
      bytes = record.end;
      visits += record.visits;
    }
    if (bytes === 0) return { end, visits };
    end += bytes;
  }
};

/** Whether a complete record starts anywhere from `offset` on. */
const holdsRecord = async (handle: FileHandle, offset: number): Promise<boolean> => {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  // The chunks overlap, so that each record is complete in one of them.
  for (let position = offset; ; position += chunk.length - maxRecordBytes) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    const bytes = chunk.subarray(0, bytesRead);
    for (let at = 0; at < bytesRead; at += 1) if (recordAt(bytes, at)) return true;
    if (bytesRead < chunk.length) return false;
  }
};

/**
 * Drops an incomplete write of a process that died. Only the last segment can end with one, and its visits were not
 * redirected. Bytes before a complete record are damage instead, which the shipper sets aside.
 *
 * @returns the number of the spool's last visit
 */
const dropTornTail = async (
  segments: readonly Segment[],
  from: ShippedPosition | undefined,
  logger: Logger,
): Promise<number> => {
  const tail = segments.at(-1);
  if (!tail) return 0;
  const isStarted = from?.segment === tail.first;
  const start = isStarted ? Math.min(from.offset, tail.length) : 0;
  const handle = await open(tail.path, 'r');
  try {
    const { end, visits } = await findEnd(handle, start);
    if (end < tail.length && !(await holdsRecord(handle, end))) {
      logger.warn(
        { file: tail.path, offset: end, bytes: tail.length - end },
        'a spool ends in the middle of a write; that end is dropped',
      );
      tail.length = end;
    }
    return (isStarted ? from.through : tail.first - 1) + visits;
  } finally {
    await handle.close();
  }
};

/** A spool whose owner has ended, locked by this process. */
export interface Orphan {
  readonly folder: SpoolFolder;
  readonly backlog: Backlog;
  /** The number of its last visit. */
  readonly last: number;
}

/** Reads a folder that this process has locked; `null` if it is empty. */
const openOrphan = async (folder: SpoolFolder, context: SpoolContext): Promise<Orphan | null> => {
  const segments = await listSegments(folder.path);
  if (segments.length === 0) return null;
  const positionFile = await openPosition(folder.path);
  try {
    const from = await readPosition(folder.path);
    const last = await dropTornTail(segments, from, context.logger);
    return { folder, backlog: new Backlog(folder.id, positionFile, context, segments, from), last };
  } catch (error) {
    await positionFile.close();
    throw error;
  }
};

/**
 * Adopts the spool of an ended process. If it is empty, deletes its folder and returns `null`.
 *
 * @throws LockHeld while a live process has locked it, or the error of the file system
 */
export const adoptOrphan = async (
  root: string,
  id: string,
  context: SpoolContext,
): Promise<Orphan | null> => {
  const path = join(root, id);
  const folder: SpoolFolder = { id, path, lock: await acquireLock(path) };
  const orphan = await openOrphan(folder, context).catch((error: unknown) => {
    releaseFolder(folder, context.logger);
    throw error;
  });
  if (!orphan) await discardFolder(folder, context.logger);
  return orphan;
};

/**
 * Ships an adopted spool with its source and sequences, and deletes its folder.
 *
 * @throws the errors of `Shipper.shipNext`; the spool stays locked
 */
export const shipOrphan = async (
  { folder, backlog }: Orphan,
  shipper: Shipper,
  logger: Logger,
): Promise<void> => {
  while (await shipper.shipNext(backlog));
  await backlog.close();
  await discardFolder(folder, logger);
};

/** Unlocks the spool, so that another process can ship the rest. */
export const releaseOrphan = async ({ folder, backlog }: Orphan, logger: Logger): Promise<void> => {
  await backlog.close();
  releaseFolder(folder, logger);
};
