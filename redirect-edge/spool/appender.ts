import type { SpoolContext } from './folder.js';
import { RecordBuffer, type NewVisit } from './record.js';
import type { SegmentWriter } from './segment.js';

/** The visit is not kept, so it must not be redirected. A retry, maybe at another edge, can succeed. */
export class SpoolUnavailable extends Error {
  /**
   * @param code `SPOOL_FULL`: the spool of this edge has reached its cap, so the log has been away for
   *   long. `SPOOL_WRITE_FAILED`: the file system refused (no space, I/O error); see
   *   `cause`. `SPOOL_STOPPED`: this edge is shutting down.
   */
  constructor(
    readonly code: 'SPOOL_FULL' | 'SPOOL_WRITE_FAILED' | 'SPOOL_STOPPED',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What is to happen when a visit is kept (`null`), or is not. */
export type Done = (failure: SpoolUnavailable | null) => void;

/** Numbers visits and writes those of one event-loop tick at once. */
export class Appender {
  readonly #buffer = new RecordBuffer();
  #next = 1;
  #written = 0;
  /** Of the visits of this event-loop tick, which are kept or refused together. */
  #waiting: Done[] = [];
  #first = 0;
  #flushing: NodeJS.Immediate | undefined;
  #stopped = false;
  /** The trouble that was logged last, so that a flood of refusals is one line. */
  #trouble: 'full' | 'failing' | undefined;

  constructor(
    private readonly options: SpoolContext & {
      readonly writer: SegmentWriter;
      /** What this spool takes on the disk. */
      readonly diskBytes: () => number;
      /** No append may take `diskBytes` above it. */
      readonly maxBytes: number;
      /** Called after each successful write, and at the stop. */
      readonly onChange: () => void;
    },
  ) {}

  /** The highest sequence that is in a file, 0 for none. */
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
      this.#refuse(done, 'SPOOL_STOPPED', 'The spool is shutting down');
      return;
    }
    const sequence = this.#next;
    const size = this.#buffer.add(sequence, visit);
    if (diskBytes() + this.#buffer.length > maxBytes) {
      this.#buffer.takeBack(size);
      if (this.#trouble !== 'full') {
        this.#trouble = 'full';
        logger.error({ maxBytes }, 'the spool is full: visits are refused');
      }
      this.#refuse(done, 'SPOOL_FULL', `The spool holds its ${maxBytes} bytes`);
      return;
    }
    this.#next = sequence + 1;
    if (this.#waiting.push(done) > 1) return;
    this.#first = sequence;
    // After the poll phase: by then every request that has arrived has been handled.
    this.#flushing = setImmediate(() => {
      this.flush();
    });
  }

  /** Writes what is waiting now; later appends are refused. */
  stop(): void {
    this.#stopped = true;
    this.flush();
    this.options.writer.close();
    this.options.onChange();
  }

  /** Writes what is waiting now. */
  flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    clearImmediate(this.#flushing);
    const failure = this.#write(waiting.length);
    for (const done of waiting) this.#call(done, failure);
  }

  /** A callback that throws must not keep the others of its tick from their responses, nor end the process. */
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
      writer.write(this.#buffer.bytes(), this.#first);
    } catch (cause) {
      counters.refused += visits;
      // The numbers are used again, so that a number that the log lacks is a lost visit. The next record takes the place
      // of what the failed write has left in the file: nothing is written before the file is cut there.
      this.#next = this.#first;
      if (this.#trouble !== 'failing') {
        this.#trouble = 'failing';
        logger.error({ err: cause }, 'the spool cannot be written: visits are refused');
      }
      const message = 'The visit could not be written to the spool';
      return new SpoolUnavailable('SPOOL_WRITE_FAILED', message, { cause });
    } finally {
      this.#buffer.clear();
    }
    if (this.#trouble) {
      this.#trouble = undefined;
      logger.info('the spool takes visits again');
    }
    counters.appended += visits;
    this.#written = this.#next - 1;
    onChange();
    return null;
  }

  #refuse(done: Done, code: 'SPOOL_FULL' | 'SPOOL_STOPPED', message: string): void {
    this.options.counters.refused += 1;
    this.#call(done, new SpoolUnavailable(code, message));
  }
}
