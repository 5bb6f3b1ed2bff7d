import type { Logger } from 'pino';
import { WakeUp } from '../../ops/platform/concurrency/wake-up.js';
import { Adoption } from './adoption.js';
import { Appender, type Done } from './appender.js';
import {
  createSpoolFolder,
  discardFolder,
  releaseFolder,
  newCounters,
  type SpoolContext,
} from './folder.js';
import type { NewVisit } from '../../schemas/events/spooled-visit.js';
import { nodeFiles, openPosition, SegmentWriter, type SegmentFiles } from './segment.js';
import { Backlog, Shipper, type ShipperOptions, type Shipping } from './shipper.js';

export interface SpoolOptions {
  /** The folder of the spools of all edges on this machine. */
  readonly root: string;
  /** The size limit of this process's own spool on disk; at least 64 KiB. */
  readonly maxBytes: number;
  /** Whether a visit also survives power loss, not only a crash of the process. */
  readonly fsync: boolean;
  /** The spool stops it. */
  readonly shipping: Shipping;
  readonly shipDurations?: ShipperOptions['durations'];
  readonly logger: Logger;
  /** The size at which a segment is closed; by default 8 MiB, and at most an eighth of `maxBytes`. */
  readonly segmentBytes?: number;
  /** How often to scan for spools of ended processes; by default 5,000 ms. */
  readonly scanEveryMs?: number;
  readonly files?: SegmentFiles;
}

/** The visits that are not in the log yet. */
interface SpoolDepth {
  readonly bytes: number;
  readonly events: number;
}

const defaultSegmentBytes = 8 * 1024 * 1024;

/**
 * Opens a new spool, which makes visits durable in local files before they are redirected. It starts to ship this
 * spool and the spools of ended processes.
 */
export const openSpool = async (options: SpoolOptions) => {
  const { root, maxBytes, fsync, shipping, shipDurations: durations, logger } = options;
  const folder = await createSpoolFolder(root, fsync);
  const positionFile = await openPosition(folder.path).catch(async (error: unknown) => {
    await discardFolder(folder, logger);
    throw error;
  });

  const context: SpoolContext = { counters: newCounters(), logger };
  const abort = new AbortController();
  const { signal } = abort;
  const backlog = new Backlog(folder.id, positionFile, context);
  const shipper = new Shipper({ ...context, shipping, durations, signal });
  const adoption = new Adoption({
    ...context,
    root,
    ownId: folder.id,
    shipper,
    scanEveryMs: options.scanEveryMs ?? 5000,
    signal,
  });
  const writer = new SegmentWriter({
    folder: folder.path,
    // A shipped segment frees its space only after it is closed, so the limit must have room for several.
    segmentBytes: Math.min(options.segmentBytes ?? defaultSegmentBytes, maxBytes / 8),
    fsync,
    files: options.files ?? nodeFiles,
    logger,
    onSegment: (segment) => {
      backlog.add(segment);
    },
  });
  const changed = new WakeUp();
  const appender = new Appender({
    ...context,
    spoolId: folder.id,
    writer,
    diskBytes: () => backlog.diskBytes,
    maxBytes,
    onChange: () => {
      changed.wake();
    },
  });

  /** Resolves with whether all of the own spool is shipped. */
  const live = shipper
    .shipWhileWritten(backlog, changed, () => appender.stopped)
    .then(
      () => true,
      (error: unknown) => {
        if (!signal.aborted) throw error;
        return false;
      },
    );

  const stop = async (shipWithinMs: number): Promise<void> => {
    appender.stop();
    const deadline = setTimeout(() => {
      abort.abort();
    }, shipWithinMs);
    const [allShipped] = await Promise.all([live, adoption.finish()]);
    clearTimeout(deadline);
    await backlog.close();
    if (allShipped) await discardFolder(folder, logger);
    else releaseFolder(folder, logger);
    await shipping.stop();
  };
  let stopped: Promise<void> | undefined;

  return {
    id: folder.id,
    counters: context.counters,
    /**
     * Calls `done` with `null` when the visit survives `kill -9` (with `fsync`, power loss). All visits of an
     * event-loop tick are written together, and their callbacks are called in the same tick. With a failure, possibly
     * before `append` returns, the visit must not be redirected. If the process dies before `done`, or if a failed
     * write could not be truncated, the visit may still be counted.
     *
     * @throws RangeError if the event of the visit has more than 5,000 characters
     */
    append(visit: NewVisit, done: Done): void {
      appender.append(visit, done);
    },
    depth: (): SpoolDepth => {
      const adopted = adoption.depth();
      return {
        bytes: adopted.bytes + backlog.bytes,
        events: adopted.events + (backlog.isEmpty ? 0 : appender.written - backlog.through),
      };
    },
    /** The size of this process's own spool on disk, which `maxBytes` limits. */
    diskBytes: () => backlog.diskBytes,
    leftOver: () => adoption.leftOver(),
    setAside: () => adoption.setAside(),
    /**
     * Refuses further visits, ships for at most `shipWithinMs`, and unlocks the spool. The next start or another edge
     * ships the rest.
     */
    stop: ({ shipWithinMs = 3000 }: { readonly shipWithinMs?: number } = {}) =>
      (stopped ??= stop(shipWithinMs)),
  };
};

export type Spool = Awaited<ReturnType<typeof openSpool>>;
