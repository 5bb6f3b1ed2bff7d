import type { Logger } from 'pino';
import type { DiskUsage, SpoolCounters } from './counters.js';
import { SpoolUnavailable } from './errors.js';
import { eventIds } from './event-ids.js';
import { RecordBuffer } from './record.js';
import type { SegmentWriter } from './segment-writer.js';
import { visitEvent, type SpooledVisit } from './visit.js';

/** The appends of one event-loop tick: written together, they succeed or fail together. */
interface Tick {
  readonly first: number;
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: SpoolUnavailable) => void;
}

export interface AppenderOptions {
  /** The `source` of the events, see `spoolSource`. */
  readonly source: string;
  readonly writer: SegmentWriter;
  readonly usage: DiskUsage;
  /** No append may take `usage` above it, bytes. */
  readonly maxBytes: number;
  readonly counters: SpoolCounters;
  readonly logger: Logger;
  /** Called after each successful write. */
  readonly onWritten: () => void;
}

/** Numbers visits and writes those of one event-loop tick at once. */
export class Appender {
  readonly #buffer = new RecordBuffer();
  readonly #newId = eventIds();
  #next = 1;
  #written = 0;
  #records = 0;
  #tick: Tick | undefined;
  #stopped = false;
  /** The trouble that was logged last, so that a flood of refusals is one line. */
  #trouble: 'full' | 'failing' | undefined;

  constructor(private readonly options: AppenderOptions) {}

  /** The highest sequence that is in a file, 0 for none. */
  get written(): number {
    return this.#written;
  }

  /** See `Spool.append`. All appends of a tick get the same promise: that is what makes it cheap. */
  append(visit: SpooledVisit): Promise<void> {
    const { usage, maxBytes, source } = this.options;
    if (this.#stopped) return this.#refuse('SPOOL_STOPPED', 'The spool is shutting down');
    const sequence = this.#next;
    const value = visitEvent(visit, this.#newId(), source, sequence);
    const size = this.#buffer.add({ sequence, key: visit.code, value });
    if (usage.bytes + this.#buffer.length > maxBytes) {
      this.#buffer.takeBack(size);
      if (this.#trouble !== 'full') {
        this.#trouble = 'full';
        this.options.logger.error({ maxBytes }, 'The spool is full: visits are refused');
      }
      return this.#refuse('SPOOL_FULL', `The spool holds its ${maxBytes} bytes`);
    }
    // A number is used once, even if its write fails: what a failed write leaves behind after a
    // power loss could otherwise take the place of a later visit with the same number. Readers do
    // not mind gaps.
    this.#next = sequence + 1;
    this.#records += 1;
    this.#tick ??= this.#newTick(sequence);
    return this.#tick.promise;
  }

  /** Writes what is waiting now; later appends are refused. */
  stop(): void {
    this.#stopped = true;
    this.#flush();
    this.options.writer.close();
  }

  #newTick(first: number): Tick {
    let resolve!: () => void;
    let reject!: (error: SpoolUnavailable) => void;
    const promise = new Promise<void>((fulfil, fail) => {
      resolve = fulfil;
      reject = fail;
    });
    // After the poll phase: by then every request that has arrived has been handled.
    setImmediate(() => {
      this.#flush();
    });
    return { first, promise, resolve, reject };
  }

  #flush(): void {
    const tick = this.#tick;
    if (!tick) return;
    const { writer, usage, counters, logger, onWritten } = this.options;
    const records = this.#records;
    this.#tick = undefined;
    this.#records = 0;
    const bytes = this.#buffer.bytes();
    try {
      writer.write(bytes, tick.first);
    } catch (cause) {
      counters.refused += records;
      if (this.#trouble !== 'failing') {
        this.#trouble = 'failing';
        logger.error({ err: cause }, 'The spool cannot be written: visits are refused');
      }
      const message = 'The visit could not be written to the spool';
      tick.reject(new SpoolUnavailable('SPOOL_WRITE_FAILED', message, { cause }));
      return;
    } finally {
      this.#buffer.clear();
    }
    if (this.#trouble) {
      this.#trouble = undefined;
      logger.info('The spool takes visits again');
    }
    usage.bytes += bytes.length;
    counters.appended += records;
    this.#written = this.#next - 1;
    tick.resolve();
    onWritten();
  }

  #refuse(code: 'SPOOL_FULL' | 'SPOOL_STOPPED', message: string): Promise<never> {
    this.options.counters.refused += 1;
    return Promise.reject(new SpoolUnavailable(code, message));
  }
}
