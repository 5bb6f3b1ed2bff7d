import type { Logger } from 'pino';
import { spoolSource } from '../../schemas/events/envelope.js';
import { Adoption } from './adoption.js';
import { Appender } from './appender.js';
import { Backlog } from './backlog.js';
import { newCounters, type DiskUsage, type SpoolCounters } from './counters.js';
import { createSpoolFolder, discardFolder, leaveFolder, spoolRoot } from './folder.js';
import type { AcquireLock, Ship } from './ports.js';
import { ProgressFile } from './progress.js';
import { nodeFiles, SegmentWriter, type SegmentFiles } from './segment-writer.js';
import { LiveShipping, Shipper } from './shipper.js';
import type { SpooledVisit } from './visit.js';

export interface SpoolOptions {
  /** The spools are in its folder `spool`; edges may share it. */
  readonly dataDir: string;
  /** Cap of the files of this process's spool and those it has adopted; at least 64 KiB. */
  readonly maxBytes: number;
  /** Whether a visit survives power loss too, not only the end of the process. */
  readonly fsync: boolean;
  readonly acquireLock: AcquireLock;
  readonly ship: Ship;
  readonly logger: Logger;
  /** When a segment is closed; 8 MiB, or an eighth of `maxBytes` if that is less. */
  readonly segmentBytes?: number;
  /** How often spools whose owner is gone are looked for; 5,000 ms. */
  readonly scanEveryMs?: number;
  readonly files?: SegmentFiles;
}

/** What is not in the log yet. `events` may count numbers that were never used, as failed writes. */
export interface SpoolDepth {
  readonly bytes: number;
  readonly events: number;
}

/** Makes visits durable in local files before they are redirected, and moves them to the log. */
export interface Spool {
  readonly id: string;
  readonly counters: Readonly<SpoolCounters>;
  /**
   * Resolves when the visit survives `kill -9` (with `fsync`, power loss): a few microseconds of
   * work, and one `write` for all visits of an event-loop tick.
   *
   * @throws SpoolUnavailable (as a rejection) when the visit is not kept: no redirect then. If the
   *   process dies before the promise settles the visit may be counted, as may one whose failed
   *   write could not even be taken back.
   */
  append(visit: SpooledVisit): Promise<void>;
  depth(): SpoolDepth;
  /**
   * Refuses further visits, ships for at most `shipWithinMs` (3,000), and unlocks the spool; what is
   * not shipped stays for the next start, or for another edge.
   */
  stop(options?: { readonly shipWithinMs?: number }): Promise<void>;
}

const defaultSegmentBytes = 8 * 1024 * 1024;

/** Begins a new spool, and the shipping of it and of those whose owners are gone. */
export const openSpool = async (options: SpoolOptions): Promise<Spool> => {
  const { dataDir, maxBytes, fsync, acquireLock, ship, logger } = options;
  const root = spoolRoot(dataDir);
  const folder = await createSpoolFolder(root, acquireLock, fsync);
  const progress = await ProgressFile.open(folder.path).catch(async (error: unknown) => {
    await discardFolder(folder, logger);
    throw error;
  });

  const counters = newCounters();
  const usage: DiskUsage = { bytes: 0 };
  const abort = new AbortController();
  const { signal } = abort;
  const shipper = new Shipper({ ship, counters, logger, signal });

  const backlog = new Backlog({
    spoolId: folder.id,
    segments: [],
    from: undefined,
    progress,
    usage,
    counters,
    logger,
  });
  const live = new LiveShipping(shipper, backlog, { logger, signal });
  const adoption = new Adoption({
    root,
    ownId: folder.id,
    acquireLock,
    shipper,
    scanEveryMs: options.scanEveryMs ?? 5000,
    usage,
    counters,
    logger,
    signal,
  });
  const writer = new SegmentWriter({
    folder: folder.path,
    // A shipped segment frees its space only once it is closed: the cap must have room for several.
    segmentBytes: Math.min(options.segmentBytes ?? defaultSegmentBytes, maxBytes / 8),
    fsync,
    files: options.files ?? nodeFiles,
    logger,
    onSegment: (segment) => {
      backlog.add(segment);
    },
  });
  const appender = new Appender({
    source: spoolSource(folder.id),
    writer,
    usage,
    maxBytes,
    counters,
    logger,
    onWritten: () => {
      live.notify();
    },
  });

  /** `true` when all of the own spool was shipped. */
  const shipping = live.run().then(
    () => true,
    (error: unknown) => {
      if (!signal.aborted) throw error;
      return false;
    },
  );
  adoption.start();

  const stop = async (shipWithinMs: number): Promise<void> => {
    appender.stop();
    live.finish();
    const deadline = setTimeout(() => {
      abort.abort();
    }, shipWithinMs);
    const [shipped] = await Promise.all([shipping, adoption.finish()]);
    clearTimeout(deadline);
    await backlog.close();
    if (shipped) await discardFolder(folder, logger);
    else leaveFolder(folder, logger);
  };
  let stopped: Promise<void> | undefined;

  return {
    id: folder.id,
    counters,
    append: (visit) => appender.append(visit),
    depth: () => {
      const adopted = adoption.depth();
      return {
        bytes: adopted.bytes + backlog.bytes,
        events: adopted.events + (backlog.isEmpty ? 0 : appender.written - backlog.through),
      };
    },
    stop: ({ shipWithinMs = 3000 } = {}) => (stopped ??= stop(shipWithinMs)),
  };
};
