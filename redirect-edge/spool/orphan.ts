import { open } from 'node:fs/promises';
import type { Logger } from 'pino';
import { Backlog } from './backlog.js';
import type { DiskUsage, SpoolCounters } from './counters.js';
import type { SpoolFolder } from './folder.js';
import { ProgressFile, type Progress } from './progress.js';
import { decodeRecords, maxRecordBytes } from './record.js';
import { listSegments, type Segment } from './segment.js';

/** A spool whose owner is gone, locked by this process. */
export interface Orphan {
  readonly folder: SpoolFolder;
  readonly backlog: Backlog;
  /** Its highest sequence. */
  readonly last: number;
}

export interface OrphanOptions {
  readonly usage: DiskUsage;
  readonly counters: SpoolCounters;
  readonly logger: Logger;
}

/** Finds the end of the good records of a segment, and the last sequence before it. */
const findEnd = async (
  segment: Segment,
  offset: number,
): Promise<{ end: number; last: number | undefined }> => {
  const chunk = Buffer.allocUnsafe(8 * maxRecordBytes);
  const handle = await open(segment.path, 'r');
  try {
    let end = offset;
    let last: number | undefined;
    for (;;) {
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, end);
      const { records, bytes } = decodeRecords(chunk.subarray(0, bytesRead));
      if (bytes === 0) return { end, last };
      end += bytes;
      last = records.at(-1)?.sequence;
    }
  } finally {
    await handle.close();
  }
};

/**
 * Cuts what a dying process may have left half written: only the last segment can have such an
 * end, and nobody was told that what stands there is kept.
 *
 * @returns the spool's highest sequence
 */
const cutTornTail = async (
  segments: readonly Segment[],
  from: Progress | undefined,
  logger: Logger,
): Promise<number> => {
  const tail = segments.at(-1);
  if (!tail) return 0;
  const start = from?.segment === tail.first ? Math.min(from.offset, tail.length) : 0;
  const { end, last } = await findEnd(tail, start);
  if (end < tail.length) {
    logger.warn(
      { file: tail.path, offset: end, bytes: tail.length - end },
      'A spool ends in the middle of a write; that end is dropped',
    );
    tail.length = end;
  }
  return last ?? Math.max(tail.first - 1, from?.through ?? 0);
};

/** Looks through a folder that this process has just locked; `undefined` if nothing is in it. */
export const openOrphan = async (
  folder: SpoolFolder,
  options: OrphanOptions,
): Promise<Orphan | undefined> => {
  const segments = await listSegments(folder.path);
  if (segments.length === 0) return undefined;
  const progress = await ProgressFile.open(folder.path);
  try {
    const from = await progress.read();
    const last = await cutTornTail(segments, from, options.logger);
    const backlog = new Backlog({ ...options, spoolId: folder.id, segments, from, progress });
    options.usage.bytes += backlog.fileBytes;
    return { folder, backlog, last };
  } catch (error) {
    await progress.close();
    throw error;
  }
};
