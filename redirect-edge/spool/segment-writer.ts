import { closeSync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { Logger } from 'pino';
import { segmentPath, type Segment } from './segment.js';

/** The calls that a full or failing disk makes fail; a test puts its own in their place. */
export interface SegmentFiles {
  /** Makes a file that must not exist yet. */
  readonly create: (path: string) => number;
  /** May write less than asked; returns how much. */
  readonly write: (
    fd: number,
    bytes: Buffer,
    offset: number,
    length: number,
    position: number,
  ) => number;
  readonly sync: (fd: number) => void;
  readonly truncate: (fd: number, length: number) => void;
}

export const nodeFiles: SegmentFiles = {
  create: (path) => openSync(path, 'wx', 0o600),
  write: writeSync,
  sync: fdatasyncSync,
  truncate: ftruncateSync,
};

/** Makes a new entry of a folder survive power loss. */
export const syncFolder = (folder: string): void => {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};

export interface SegmentWriterOptions {
  readonly folder: string;
  /** A segment that has reached this size is closed. */
  readonly segmentBytes: number;
  readonly fsync: boolean;
  readonly files: SegmentFiles;
  readonly logger: Logger;
  /** Hears of each new segment before anything is in it. */
  readonly onSegment: (segment: Segment) => void;
}

/**
 * Writes the segments of one spool, synchronously: the event loop has nothing better to do than
 * what all of the tick's visitors wait for, and a hop to the thread pool costs more than the write.
 */
export class SegmentWriter {
  #fd = -1;
  #segment: Segment | undefined;
  /** Something of a failed write may stand behind the good records. */
  #torn = false;

  constructor(private readonly options: SegmentWriterOptions) {}

  /**
   * Writes records; when it returns they survive this process (with `fsync`, power loss too).
   *
   * @param first the lowest sequence among them
   * @throws what the file system threw. None of the records is kept then: `length` still ends
   *   before them, so that the shipper never sees them, and the file is cut there. Where even the
   *   cut fails, nothing more is written until it succeeds; should the process die before that,
   *   whoever adopts the spool may count those visits though they got no redirect. The other way
   *   round, a visit redirected and not counted, cannot happen.
   */
  write(bytes: Buffer, first: number): void {
    const { files, fsync, segmentBytes } = this.options;
    const segment = this.#segment ?? this.#open(first);
    if (this.#torn) this.#cut(segment);
    try {
      this.#torn = true;
      for (let done = 0; done < bytes.length;) {
        const position = segment.length + done;
        const written = files.write(this.#fd, bytes, done, bytes.length - done, position);
        if (written === 0) throw new Error(`Nothing more can be written to ${segment.path}`);
        done += written;
      }
      if (fsync) files.sync(this.#fd);
      this.#torn = false;
    } catch (error) {
      try {
        this.#cut(segment);
      } catch (cutError) {
        // The next write tries again, and fails if that fails.
        this.options.logger.error({ err: cutError }, 'The spool cannot take back a failed write');
      }
      throw error;
    }
    segment.length += bytes.length;
    if (segment.length >= segmentBytes) this.close();
  }

  /** Ends the segment; the next write begins another. */
  close(): void {
    if (!this.#segment) return;
    if (this.#torn) {
      // Tried for the last time; see `write` for what it means when it fails.
      try {
        this.#cut(this.#segment);
      } catch (error) {
        this.options.logger.error({ err: error }, 'The spool cannot take back a failed write');
      }
    }
    this.#segment.closed = true;
    this.#segment = undefined;
    this.#torn = false;
    try {
      closeSync(this.#fd);
    } catch (error) {
      // The records were written, and read back through another descriptor.
      this.options.logger.warn({ err: error }, 'A segment of the spool did not close cleanly');
    }
  }

  #open(first: number): Segment {
    const { folder, fsync, files, onSegment } = this.options;
    const path = segmentPath(folder, first);
    const fd = files.create(path);
    try {
      if (fsync) syncFolder(folder);
    } catch (error) {
      // Left behind empty, under a number that is not used again.
      closeSync(fd);
      throw error;
    }
    this.#fd = fd;
    this.#segment = { first, path, length: 0, closed: false };
    onSegment(this.#segment);
    return this.#segment;
  }

  #cut(segment: Segment): void {
    this.options.files.truncate(this.#fd, segment.length);
    this.#torn = false;
  }
}
