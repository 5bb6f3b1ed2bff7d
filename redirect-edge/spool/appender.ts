import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import { deferred, type Deferred } from '../../ops/platform/concurrency/deferred.js';
import { newEvent, writeEvent } from '../../schemas/events/codec.js';
import type { VisitFacts } from '../domain/visit-facts.js';
import type { SpoolContext } from './folder.js';
import { RecordBuffer } from './record.js';
import type { SegmentWriter } from './segment.js';

/** A visit that is about to be redirected. The visitor's address never gets here. */
export interface NewVisit {
  readonly code: string;
  readonly at: Date;
  readonly facts: VisitFacts;
  /** The link's. */
  readonly account?: string | undefined;
  readonly requestId?: string | undefined;
}

/** The LinkVisited event of a visit as it will stand in the log. */
export const visitEvent = (
  { code: subject, at: time, facts, account, requestId: correlationId }: NewVisit,
  id: string,
  source: string,
  sequence: number,
): string => {
  const metadata = { id, source, sequence, subject, time, account, correlationId };
  return writeEvent(newEvent('LinkVisited', { click: null, ...facts }, metadata));
};

const idBytes = 16;

/**
 * Makes UUIDv7s with random bytes drawn for 256 of them at a time: a draw for each would be a third
 * of an append's cost.
 */
export const eventIds = (): (() => string) => {
  const pool = new Uint8Array(256 * idBytes);
  let used = pool.length;
  return () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const random = pool.subarray(used, used + idBytes);
    used += idBytes;
    return v7({ random });
  };
};

/** The visit is not kept, so it must not be redirected. A retry, maybe at another edge, can succeed. */
export class SpoolUnavailable extends Error {
  readonly retryable = true;

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

/** Numbers visits and writes those of one event-loop tick at once. */
export class Appender {
  readonly #buffer = new RecordBuffer();
  readonly #newId = eventIds();
  #next = 1;
  #written = 0;
  /** Of the appends of this event-loop tick, which succeed or fail together. */
  #tick: Deferred<void> | undefined;
  #first = 0;
  #records = 0;
  #stopped = false;
  /** The trouble that was logged last, so that a flood of refusals is one line. */
  #trouble: 'full' | 'failing' | undefined;

  constructor(
    private readonly options: SpoolContext & {
      /** The `source` of the events, see `spoolSource`. */
      readonly source: string;
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

  /** See `Spool.append`. All appends of a tick get the same promise: that is what makes it cheap. */
  append(visit: NewVisit): Promise<void> {
    const { diskBytes, maxBytes, source } = this.options;
    if (this.#stopped) return this.#refuse('SPOOL_STOPPED', 'The spool is shutting down');
    const sequence = this.#next;
    const value = visitEvent(visit, this.#newId(), source, sequence);
    const size = this.#buffer.add({ sequence, key: visit.code, value });
    if (diskBytes() + this.#buffer.length > maxBytes) {
      this.#buffer.takeBack(size);
      if (this.#trouble !== 'full') {
        this.#trouble = 'full';
        this.options.logger.error({ maxBytes }, 'the spool is full: visits are refused');
      }
      return this.#refuse('SPOOL_FULL', `The spool holds its ${maxBytes} bytes`);
    }
    // A number is used once, even if its write fails: what a failed write leaves behind after a
    // power loss could otherwise take the place of a later visit with the same number. Readers do
    // not mind gaps.
    this.#next = sequence + 1;
    this.#records += 1;
    if (!this.#tick) {
      this.#tick = deferred();
      this.#first = sequence;
      // After the poll phase: by then every request that has arrived has been handled.
      setImmediate(() => {
        this.#flush();
      });
    }
    return this.#tick.promise;
  }

  /** Writes what is waiting now; later appends are refused. */
  stop(): void {
    this.#stopped = true;
    this.#flush();
    this.options.writer.close();
    this.options.onChange();
  }

  #flush(): void {
    const tick = this.#tick;
    if (!tick) return;
    const { writer, counters, logger, onChange } = this.options;
    const records = this.#records;
    this.#tick = undefined;
    this.#records = 0;
    const bytes = this.#buffer.bytes();
    try {
      writer.write(bytes, this.#first);
    } catch (cause) {
      counters.refused += records;
      if (this.#trouble !== 'failing') {
        this.#trouble = 'failing';
        logger.error({ err: cause }, 'the spool cannot be written: visits are refused');
      }
      const message = 'The visit could not be written to the spool';
      tick.reject(new SpoolUnavailable('SPOOL_WRITE_FAILED', message, { cause }));
      return;
    } finally {
      this.#buffer.clear();
    }
    if (this.#trouble) {
      this.#trouble = undefined;
      logger.info('the spool takes visits again');
    }
    counters.appended += records;
    this.#written = this.#next - 1;
    tick.resolve();
    onChange();
  }

  #refuse(code: 'SPOOL_FULL' | 'SPOOL_STOPPED', message: string): Promise<never> {
    this.options.counters.refused += 1;
    return Promise.reject(new SpoolUnavailable(code, message));
  }
}
