import { partitionOf } from '../../ops/event-log/partition.js';
import { spoolSource } from '../../schemas/events/envelope.js';
import { writeSpooledVisit, type NewVisit } from '../../schemas/events/spooled-visit.js';
import { topics } from '../../schemas/events/topics.js';
import type { SpoolContext } from './folder.js';
import { RecordBuffer } from './record.js';
import type { SegmentWriter } from './segment.js';

/** The visit is not written, so it must not be redirected. A retry, possibly at another edge, can succeed. */
export class SpoolUnavailable extends Error {
  /**
   * @param code `SPOOL_FULL`: the spool of this edge has reached its size limit, because the log has been unreachable
   *   for long. `SPOOL_WRITE_FAILED`: the file system failed (no space, I/O error), with its error as `cause`.
   *   `SPOOL_STOPPED`: this edge is shutting down.
   */
  constructor(
    readonly code: 'SPOOL_FULL' | 'SPOOL_WRITE_FAILED' | 'SPOOL_STOPPED',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Called with `null` when a visit is durable, or with the failure. */
export type Done = (failure: SpoolUnavailable | null) => void;

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
export class Appender {
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

  /** The number of written visits. */
  get written(): number {
    return this.#written;
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
