import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { validate as isUuid } from 'uuid';
import { periodically, type Periodic } from '../../ops/platform/concurrency/periodic.js';
import { hasCode } from '../../ops/platform/errors.js';
import { acquireLock } from '../../ops/platform/process/process-lock.js';
import {
  discardFolder,
  isNewborn,
  leaveFolder,
  type SpoolContext,
  type SpoolFolder,
} from './folder.js';
import { decodeRecords, maxRecordBytes } from './record.js';
import {
  listSegments,
  openPosition,
  readPosition,
  type Segment,
  type ShippedPosition,
} from './segment.js';
import { Backlog, type Shipper } from './shipper.js';

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
 * Cuts what a dying process may have left half written: only the last segment can have such an end,
 * and no visitor was redirected for what stands there.
 *
 * @returns the spool's highest sequence
 */
const cutTornTail = async (
  segments: readonly Segment[],
  from: ShippedPosition | undefined,
  logger: Logger,
): Promise<number> => {
  const tail = segments.at(-1);
  if (!tail) return 0;
  const start = from?.segment === tail.first ? Math.min(from.offset, tail.length) : 0;
  const { end, last } = await findEnd(tail, start);
  if (end < tail.length) {
    logger.warn(
      { file: tail.path, offset: end, bytes: tail.length - end },
      'a spool ends in the middle of a write; that end is dropped',
    );
    tail.length = end;
  }
  return last ?? Math.max(tail.first - 1, from?.through ?? 0);
};

/** A spool whose owner has ended, locked by this process. */
interface Orphan {
  readonly folder: SpoolFolder;
  readonly backlog: Backlog;
  /** Its highest sequence. */
  readonly last: number;
}

/** Reads a folder that this process has just locked; `undefined` if nothing is in it. */
const openOrphan = async (
  folder: SpoolFolder,
  context: SpoolContext,
): Promise<Orphan | undefined> => {
  const segments = await listSegments(folder.path);
  if (segments.length === 0) return undefined;
  const positionFile = await openPosition(folder.path);
  try {
    const from = await readPosition(folder.path);
    const last = await cutTornTail(segments, from, context.logger);
    const backlog = new Backlog(folder.id, positionFile, context, segments, from);
    context.usage.bytes += backlog.fileBytes;
    return { folder, backlog, last };
  } catch (error) {
    await positionFile.close();
    throw error;
  }
};

/**
 * Takes over the spools whose owners have ended and ships them, one after the other, under the source
 * and the sequences that they have. All that can be locked are, so that they count for the cap.
 */
export class Adoption {
  /** Adopted and not wholly shipped yet; the first one is being shipped. */
  readonly #orphans: Orphan[] = [];
  readonly #scanning: Periodic;
  #isFinishing = false;
  #shipping: Promise<void> | undefined;

  /** Scans now and every `scanEveryMs`. */
  constructor(
    private readonly options: SpoolContext & {
      /** See `spoolRoot`. */
      readonly root: string;
      /** This process's own spool. */
      readonly ownId: string;
      readonly shipper: Shipper;
      readonly scanEveryMs: number;
      /** Ends shipping at once. */
      readonly signal: AbortSignal;
    },
  ) {
    this.#scanning = periodically({
      name: 'adopt the spools of ended processes',
      everyMs: options.scanEveryMs,
      task: async () => {
        await this.#scan();
        return 0;
      },
      logger: options.logger,
    });
  }

  /** What is left to ship of the spools adopted so far. */
  depth(): { bytes: number; events: number } {
    const sum = { bytes: 0, events: 0 };
    for (const { backlog, last } of this.#orphans) {
      if (backlog.isEmpty) continue;
      sum.bytes += backlog.bytes;
      sum.events += last - backlog.through;
    }
    return sum;
  }

  /**
   * Adopts no more, and resolves when what was adopted is shipped or the signal has come. What is
   * not shipped then is unlocked for others.
   */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    await this.#scanning.stop();
    await this.#shipping;
    for (const orphan of this.#orphans.splice(0)) await this.#leave(orphan);
  }

  async #scan(): Promise<void> {
    const { root, ownId, logger } = this.options;
    const known = new Set([ownId, ...this.#orphans.map(({ folder }) => folder.id)]);
    const ids = (await readdir(root)).filter((name) => isUuid(name) && !known.has(name));
    // UUIDv7s: the oldest spool first.
    for (const id of ids.sort()) {
      if (this.#isFinishing) return;
      try {
        await this.#adopt(id);
      } catch (error) {
        // Another edge was quicker, and is through with it already.
        if (hasCode(error, 'ENOENT')) continue;
        logger.error({ err: error, spool: id }, 'a spool cannot be adopted; tried again later');
      }
    }
  }

  async #adopt(id: string): Promise<void> {
    const { root, counters, logger } = this.options;
    const path = join(root, id);
    if ((await listSegments(path)).length === 0 && (await isNewborn(path))) return;
    const lock = await acquireLock(path).catch((error: unknown) => {
      if (hasCode(error, 'LOCK_HELD')) return undefined;
      throw error;
    });
    if (!lock) return;
    const folder: SpoolFolder = { id, path, lock };
    const orphan = await openOrphan(folder, this.options).catch((error: unknown) => {
      leaveFolder(folder, logger);
      throw error;
    });
    if (!orphan) {
      await discardFolder(folder, logger);
      return;
    }
    counters.adopted += 1;
    const { bytes } = orphan.backlog;
    logger.info({ spool: id, bytes }, 'the spool of an ended process is adopted');
    this.#orphans.push(orphan);
    this.#shipping ??= this.#shipAll();
  }

  async #shipAll(): Promise<void> {
    const { shipper, logger, signal } = this.options;
    for (let orphan = this.#orphans[0]; orphan; orphan = this.#orphans[0]) {
      const spool = orphan.folder.id;
      try {
        while (await shipper.shipNext(orphan.backlog));
        await orphan.backlog.close();
        await discardFolder(orphan.folder, logger);
        logger.info({ spool }, 'an adopted spool is shipped');
      } catch (error) {
        // `finish` unlocks this one and the others behind it.
        if (signal.aborted) return;
        logger.error({ err: error, spool }, 'an adopted spool cannot be read; tried again later');
        await this.#leave(orphan);
      }
      this.#orphans.shift();
    }
    // In the same tick as the last look at the list, so that what is adopted next begins anew.
    this.#shipping = undefined;
  }

  async #leave({ folder, backlog }: Orphan): Promise<void> {
    this.options.usage.bytes -= backlog.fileBytes;
    await backlog.close();
    leaveFolder(folder, this.options.logger);
  }
}
