import type { Logger } from 'pino';
import { WakeUp } from '../../ops/platform/concurrency/deferred.js';
import { Adoption } from './adoption.js';
import { partitionOf } from '../../ops/event-log/partition.js';
import { spoolSource } from '../../schemas/events/envelope.js';
import { topics } from '../../schemas/events/topics.js';
import {
  createSpoolFolder,
  discardFolder,
  releaseFolder,
  newCounters,
  SpoolUnavailable,
  type Done,
  type SpoolContext,
} from './folder.js';
import { writeSpooledVisit, type NewVisit } from '../../schemas/events/spooled-visit.js';
import { RecordBuffer } from './record.js';
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

/** The visits of one partition of the log. */
interface PartitionSequence {
  readonly source: string;
  /** The highest sequence. */
  last: number;
  /** The highest sequence in the file. */
  written: number;
}

const { partitions } = topics.visits;

/** Numbers visits, and writes those of one event-loop tick together. */
class Appender {
  readonly #buffer = new RecordBuffer();
  readonly #sequences: readonly PartitionSequence[];
  #written = 0;
  /** Callbacks of the visits of this event-loop tick, which are written or refused together. */
  #waiting: Done[] = [];
  #flushing: NodeJS.Immediate | undefined;
  #stopped = false;
  /** The last logged problem, so that many refusals are one log line. */
  #problem: 'full' | 'failing' | undefined;

  constructor(
    private readonly options: SpoolContext & {
      readonly spoolId: string;
      readonly writer: SegmentWriter;
      /** The size of this spool on disk. */
      readonly diskBytes: () => number;
      /** The upper bound of `diskBytes`. */
      readonly maxBytes: number;
      /** Called after each successful write, and by `stop`. */
      readonly onChange: () => void;
    },
  ) {
    this.#sequences = Array.from({ length: partitions }, (_, partition) => {
      return { source: spoolSource(`${options.spoolId}/${partition}`), last: 0, written: 0 };
    });
  }

  get written(): number {
    return this.#written;
  }

  /** The highest sequence in the file, by partition. */
  get acknowledged(): readonly number[] {
    return this.#sequences.map(({ written }) => written);
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** See `Spool.append`. */
  append(visit: NewVisit, done: Done): void {
    const { diskBytes, maxBytes, logger } = this.options;
    if (this.#stopped) {
      this.#refuse(done, 'SPOOL_STOPPED', 'the spool is shutting down');
      return;
    }
    const partition = partitionOf(visit.subject, partitions);
    const sequence = this.#sequences[partition];
    if (!sequence) throw new RangeError(`partition ${partition} of ${partitions} does not exist`);
    const event = writeSpooledVisit(visit, sequence.source, sequence.last + 1);
    if (diskBytes() + this.#buffer.lengthWith(event) > maxBytes) {
      if (this.#problem !== 'full') {
        this.#problem = 'full';
        logger.error({ maxBytes }, 'the spool is full: visits are refused');
      }
      this.#refuse(done, 'SPOOL_FULL', `the spool has reached its limit of ${maxBytes} bytes`);
      return;
    }
    this.#buffer.add(partition, event);
    sequence.last += 1;
    if (this.#waiting.push(done) > 1) return;
    // After the poll phase, when every request that has arrived is handled.
    this.#flushing = setImmediate(() => {
      this.#flush();
    });
  }

  /** Writes the waiting visits, and refuses later appends. */
  stop(): void {
    this.#stopped = true;
    this.#flush();
    this.options.writer.close();
    this.options.onChange();
  }

  #flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    clearImmediate(this.#flushing);
    const failure = this.#write(waiting.length);
    for (const done of waiting) this.#call(done, failure);
  }

  /** A callback that throws must not prevent the other responses of its tick, nor end the process. */
  #call(done: Done, failure: SpoolUnavailable | null): void {
    try {
      done(failure);
    } catch (err) {
      this.options.logger.error({ err }, 'the callback of a visit failed');
    }
  }

  /** Writes the visits of a tick. */
  #write(visits: number): SpoolUnavailable | null {
    const { writer, counters, logger, onChange } = this.options;
    try {
      writer.write(this.#buffer.bytes(), this.#written + 1);
    } catch (cause) {
      counters.refused += visits;
      // The sequences are reused, so that a gap in the log means a lost visit. The file is truncated before the next
      // write, so no two records of a partition have the same sequence.
      for (const sequence of this.#sequences) sequence.last = sequence.written;
      if (this.#problem !== 'failing') {
        this.#problem = 'failing';
        logger.error({ err: cause }, 'the spool cannot be written: visits are refused');
      }
      const message = 'the visit could not be written to the spool';
      return new SpoolUnavailable('SPOOL_WRITE_FAILED', message, { cause });
    } finally {
      this.#buffer.clear();
    }
    if (this.#problem) {
      this.#problem = undefined;
      logger.info('the spool accepts visits again');
    }
    for (const sequence of this.#sequences) sequence.written = sequence.last;
    counters.appended += visits;
    this.#written += visits;
    onChange();
    return null;
  }

  #refuse(done: Done, code: 'SPOOL_FULL' | 'SPOOL_STOPPED', message: string): void {
    this.options.counters.refused += 1;
    this.#call(done, new SpoolUnavailable(code, message));
  }
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
    /** The number of visits whose callback got `null`, by partition of the log. */
    acknowledged: (): readonly number[] => appender.acknowledged,
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
