import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { validate as isUuid } from 'uuid';
import { hasCode } from '../../ops/platform/errors.js';
import { spoolRoot } from './folder.js';
import { listSegments, readPosition } from './segment.js';

/** How far a segment was written when it was looked at. */
interface Written {
  readonly segment: number;
  readonly length: number;
}

/** What `look` finds, or what is told for a folder or file that is gone: then it was all shipped. */
const unlessGone = async <Value>(look: () => Promise<Value>, gone: Value): Promise<Value> => {
  try {
    return await look();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return gone;
    throw error;
  }
};

const writtenIn = async (folder: string): Promise<readonly Written[]> => {
  const segments = await unlessGone(() => listSegments(folder), []);
  return segments.map(({ first, length }) => ({ segment: first, length }));
};

/** Bytes of one spool's segments, as they were then, that are not known to be in the log now. */
const unshippedOf = async (folder: string, then: readonly Written[]): Promise<number> => {
  const position = await unlessGone(() => readPosition(folder), undefined);
  // Looked at after the position: a segment that is gone by now was shipped, and then deleted.
  const now = new Map((await writtenIn(folder)).map(({ segment, length }) => [segment, length]));
  return then.reduce((sum, { segment, length }) => {
    // What a failed write left is taken back.
    const end = Math.min(length, now.get(segment) ?? 0);
    if (!position || position.segment < segment) return sum + end;
    return sum + (position.segment > segment ? 0 : Math.max(0, end - position.offset));
  }, 0);
};

const lookEveryMs = 20;

/**
 * Waits until the log has every visit that stood in a spool of this data directory at the call,
 * whichever process it belongs to: their files tell. Visits that come meanwhile are not waited for.
 *
 * @returns the bytes that were not in the log when the time was over; 0 as a rule
 */
export const shippedSoFar = async (dataDir: string, withinMs: number): Promise<number> => {
  const root = spoolRoot(dataDir);
  const deadline = performance.now() + withinMs;
  const ids = (await unlessGone(() => readdir(root), [])).filter((name) => isUuid(name));
  const spools = await Promise.all(
    ids.map(async (id) => {
      const folder = join(root, id);
      return { folder, written: await writtenIn(folder) };
    }),
  );
  for (;;) {
    let bytes = 0;
    for (const { folder, written } of spools) bytes += await unshippedOf(folder, written);
    if (bytes === 0 || performance.now() > deadline) return bytes;
    await sleep(lookEveryMs);
  }
};
