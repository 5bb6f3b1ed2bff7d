import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { validate as isUuid } from 'uuid';
import { nullOn } from '../../ops/platform/errors.js';
import { listSegments, readPosition } from './segment.js';

/** The lengths of a spool's segments by `first`. A deleted folder or file (ENOENT) is completely shipped. */
const lengthsIn = async (folder: string): Promise<ReadonlyMap<number, number>> => {
  const segments = (await nullOn(listSegments(folder), 'ENOENT')) ?? [];
  return new Map(segments.map(({ first, length }) => [first, length]));
};

/** Bytes of the given segments of one spool that are not known to be in the log. */
const unshippedOf = async (
  folder: string,
  lengths: ReadonlyMap<number, number>,
): Promise<number> => {
  const position = await nullOn(readPosition(folder), 'ENOENT');
  // Read after the position: a segment that is deleted now was shipped.
  const current = await lengthsIn(folder);
  let bytes = 0;
  for (const [segment, length] of lengths) {
    // A segment may be truncated after a failed write.
    const end = Math.min(length, current.get(segment) ?? 0);
    if (!position || position.segment < segment) bytes += end;
    else if (position.segment === segment) bytes += Math.max(0, end - position.offset);
  }
  return bytes;
};

const pollMs = 20;

/**
 * Waits until the log has every visit that is in a spool of this root at the time of the call, by the files of all
 * processes.
 *
 * @returns the bytes that are not in the log after `withinMs`; usually 0
 */
export const shippedSoFar = async (root: string, withinMs: number): Promise<number> => {
  const deadline = performance.now() + withinMs;
  const names = (await nullOn(readdir(root), 'ENOENT')) ?? [];
  const spools = await Promise.all(
    names.filter(isUuid).map(async (id) => {
      const folder = join(root, id);
      return { folder, lengths: await lengthsIn(folder) };
    }),
  );
  for (;;) {
    let bytes = 0;
    for (const { folder, lengths } of spools) bytes += await unshippedOf(folder, lengths);
    if (bytes === 0 || performance.now() > deadline) return bytes;
    await sleep(pollMs);
  }
};
