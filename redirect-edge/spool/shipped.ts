import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { validate as isUuid } from 'uuid';
import { hasCode } from '../../ops/platform/errors.js';
import { listSegments, readPosition } from './segment.js';

/** The result of `look`, or `gone` where its folder or file is deleted: then all of it was shipped. */
const unlessGone = async <Value>(look: () => Promise<Value>, gone: Value): Promise<Value> => {
  try {
    return await look();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return gone;
    throw error;
  }
};

/** The lengths of a spool's segments by their first sequences. */
const lengthsIn = async (folder: string): Promise<ReadonlyMap<number, number>> => {
  const segments = await unlessGone(() => listSegments(folder), []);
  return new Map(segments.map(({ first, length }) => [first, length]));
};

/** Bytes of one spool's segments, as they were then, that are not known to be in the log now. */
const unshippedOf = async (folder: string, then: ReadonlyMap<number, number>): Promise<number> => {
  const position = await unlessGone(() => readPosition(folder), undefined);
  // Read after the position: a segment that is gone by now was shipped, and then deleted.
  const now = await lengthsIn(folder);
  let bytes = 0;
  for (const [segment, length] of then) {
    // The end of a segment whose write failed was cut.
    const end = Math.min(length, now.get(segment) ?? 0);
    if (!position || position.segment < segment) bytes += end;
    else if (position.segment === segment) bytes += Math.max(0, end - position.offset);
  }
  return bytes;
};

const lookEveryMs = 20;

/**
 * Waits until the log has every visit that was in a spool of this root at the call, of any
 * process, judging by their files. Later visits are not waited for.
 *
 * @returns the bytes that were not in the log when the time was over; 0 as a rule
 */
export const shippedSoFar = async (root: string, withinMs: number): Promise<number> => {
  const deadline = performance.now() + withinMs;
  const ids = (await unlessGone(() => readdir(root), [])).filter((name) => isUuid(name));
  const spools = await Promise.all(
    ids.map(async (id) => {
      const folder = join(root, id);
      return { folder, lengths: await lengthsIn(folder) };
    }),
  );
  for (;;) {
    let bytes = 0;
    for (const { folder, lengths } of spools) bytes += await unshippedOf(folder, lengths);
    if (bytes === 0 || performance.now() > deadline) return bytes;
    await sleep(lookEveryMs);
  }
};
