import type { Logger } from 'pino';
import { WakeUp } from '../../ops/platform/concurrency/wake-up.js';
import { Adoption } from './adoption.js';
import { Appender, type Done } from './appender.js';
import {
  createSpoolFolder,
  discardFolder,
  leaveFolder,
  newCounters,
  type SpoolContext,
} from './folder.js';
import type { NewVisit } from './record.js';
import { nodeFiles, openPosition, SegmentWriter, type SegmentFiles } from './segment.js';
import { Backlog, Shipper, type ShipperOptions, type Shipping } from './shipper.js';

export interface SpoolOptions {
  /** The folder of all spools of this machine, which its edges share. */
  readonly root: string;
  /** Cap of the files of this process's own spool; at least 64 KiB. */
  readonly maxBytes: number;
  /** Whether a visit survives power loss too, not only the end of the process. */
  readonly fsync: boolean;
  /** Is stopped with the spool. */
  readonly shipping: Shipping;
  readonly shipDurations?: ShipperOptions['durations'];
  readonly logger: Logger;
  /** When a segment is closed; 8 MiB, or an eighth of `maxBytes` if that is less. */
  readonly segmentBytes?: number;
  /** How often spools whose owner has ended are looked for; 5,000 ms. */
  readonly scanEveryMs?: number;
  readonly files?: SegmentFiles;
}

/** What is not in the log yet. */
export interface SpoolDepth {
  readonly bytes: number;
  readonly events: number;
}

const defaultSegmentBytes = 8 * 1024 * 1024;

/**
 * Begins a new spool, which makes visits durable in local files before they are redirected, and the
 * shipping of it and of those whose owners have ended.
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
    // A shipped segment frees its space only once it is closed: the cap must have room for several.
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
    writer,
    diskBytes: () => backlog.diskBytes,
    maxBytes,
    onChange: () => {
      changed.wake();
    },
  });

  /** `true` when all of the own spool was shipped. */
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
    else leaveFolder(folder, logger);
    await shipping.stop();
  };
  let stopped: Promise<void> | undefined;

  return {
    id: folder.id,
    counters: context.counters,
    /**
     * Calls `done` with `null` when the visit survives `kill -9` (with `fsync`, power loss): after one
     * `write` for all visits of an event-loop tick, for all of them in the same turn. With a failure,
     * maybe at once, when the visit is not kept: no redirect then. If the process dies before `done` is
     * called the visit may be counted, as may one whose failed write could not even be taken back.
     *
     * @throws RangeError when a text of the visit has more than 254 bytes
     */
    append(visit: NewVisit, done: Done): void {
      appender.append(visit, done);
    },
    /** Writes what was appended now, not after what else comes in this event-loop tick. */
    flush(): void {
      appender.flush();
    },
    depth: (): SpoolDepth => {
      const adopted = adoption.depth();
      return {
        bytes: adopted.bytes + backlog.bytes,
        events: adopted.events + (backlog.isEmpty ? 0 : appender.written - backlog.through),
      };
    },
    /** What this process's own spool takes on the disk: what `maxBytes` is the cap of. */
    diskBytes: () => backlog.diskBytes,
    leftOver: () => adoption.leftOver(),
    setAside: () => adoption.setAside(),
    /**
     * Refuses further visits, ships for at most `shipWithinMs`, and unlocks the spool; what is not
     * shipped stays for the next start, or for another edge.
     */
    stop: ({ shipWithinMs = 3000 }: { readonly shipWithinMs?: number } = {}) =>
      (stopped ??= stop(shipWithinMs)),
  };
};

export type Spool = Awaited<ReturnType<typeof openSpool>>;
