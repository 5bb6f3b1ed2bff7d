/** The files of one spool: segments of records, and the position up to which they are shipped. */
import {
  closeSync,
  constants,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { open, readdir, readFile, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Logger } from 'pino';

/** One file of a spool. It contains only records. Their visits are numbered from 1 in the spool. */
export interface Segment {
  /** The number of its first visit, and the name of the file. */
  readonly first: number;
  readonly path: string;
  /** Bytes of complete records. Bytes beyond it are the rest of a failed write. */
  length: number;
  /** A closed segment is never written again. */
  closed: boolean;
}

const digits = 16;
const fileName = new RegExp(`^\\d{${digits}}\\.seg$`);

export const segmentPath = (folder: string, first: number): string =>
  join(folder, `${String(first).padStart(digits, '0')}.seg`);

/** The segments in a folder, oldest first, with the lengths of their files. */
export const listSegments = async (folder: string): Promise<Segment[]> => {
  const names = (await readdir(folder)).filter((name) => fileName.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const { size } = await stat(path);
      return { first: Number.parseInt(name, 10), path, length: size, closed: true };
    }),
  );
};

/** The calls that fail on a full or broken disk. Tests replace them. */
export const nodeFiles = {
  /** Creates a file that must not exist. */
  create: (path: string): number => openSync(path, 'wx', 0o600),
  /** Returns the bytes written, which may be fewer than `length`. */
  write: (fd: number, bytes: Buffer, offset: number, length: number, position: number): number =>
    writeSync(fd, bytes, offset, length, position),
  sync: fdatasyncSync,
  truncate: ftruncateSync,
};

export type SegmentFiles = typeof nodeFiles;

/** Makes a new entry of a folder durable. */
export const syncFolder = (folder: string): void => {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};

/**
 * Writes the segments of one spool. It writes synchronously, because all visitors of the tick wait for the write, and
 * the thread pool costs more than the write.
 */
export class SegmentWriter {
  #fd = -1;
  #segment: Segment | undefined;
  /** Whether the file may have a part of a failed write after the complete records. */
  #torn = false;

  constructor(
    private readonly options: {
      readonly folder: string;
      /** A segment of at least this size is closed. */
      readonly segmentBytes: number;
      readonly fsync: boolean;
      readonly files: SegmentFiles;
      readonly logger: Logger;
      /** Called with each new segment, before the first write. */
      readonly onSegment: (segment: Segment) => void;
    },
  ) {}

  /**
   * Writes records. When it returns, they survive a crash of the process (with `fsync`, also power loss).
   *
   * @param first the number of their first visit
   * @throws the error of the file system. Then no record is kept: `length` still ends before them, so the shipper
   *   does not read them, and the file is truncated there. If truncation fails, nothing is written until it succeeds.
   *   If the process dies before that, the edge that adopts the spool may count those visits, although they got no
   *   redirect. A redirected visit is always counted.
   */
  write(bytes: Buffer, first: number): void {
    const { files, fsync, segmentBytes } = this.options;
    const segment = this.#segment ?? this.#open(first);
    if (this.#torn) this.#truncate(segment);
    try {
      this.#torn = true;
      for (let done = 0; done < bytes.length;) {
        const position = segment.length + done;
        const written = files.write(this.#fd, bytes, done, bytes.length - done, position);
        if (written === 0) throw new Error(`write() to ${segment.path} returned 0`);
        done += written;
      }
      if (fsync) files.sync(this.#fd);
      this.#torn = false;
    } catch (error) {
      // If truncation fails, the next write tries it again.
      this.#tryToTruncate(segment);
      throw error;
    }
    segment.length += bytes.length;
    if (segment.length >= segmentBytes) this.close();
  }

  /** Closes the segment. The next write opens another. */
  close(): void {
    if (!this.#segment) return;
    // The last attempt: see `write` for what happens if it fails.
    if (this.#torn) this.#tryToTruncate(this.#segment);
    this.#segment.closed = true;
    this.#segment = undefined;
    this.#torn = false;
    try {
      closeSync(this.#fd);
    } catch (error) {
      // The records are written, and are read through another descriptor.
      this.options.logger.warn({ err: error }, 'a segment of the spool did not close cleanly');
    }
  }

  #open(first: number): Segment {
    const { folder, fsync, files, onSegment } = this.options;
    const path = segmentPath(folder, first);
    const fd = files.create(path);
    try {
      if (fsync) syncFolder(folder);
    } catch (error) {
      closeSync(fd);
      // The next segment has the same name.
      rmSync(path, { force: true });
      throw error;
    }
    this.#fd = fd;
    this.#segment = { first, path, length: 0, closed: false };
    onSegment(this.#segment);
    return this.#segment;
  }

  #tryToTruncate(segment: Segment): void {
    try {
      this.#truncate(segment);
    } catch (error) {
      this.options.logger.error({ err: error }, 'a failed write of the spool cannot be truncated');
    }
  }

  #truncate(segment: Segment): void {
    this.options.files.truncate(this.#fd, segment.length);
    this.#torn = false;
  }
}

/** The position up to which a spool is in the log. */
export interface ShippedPosition {
  /** `first` of the segment. */
  readonly segment: number;
  /** Bytes of that segment that are in the log. */
  readonly offset: number;
  /** The number of visits in the log. */
  readonly through: number;
}

const positionBytes = 28;

const positionPath = (folder: string): string => join(folder, 'shipped');

/** The last written position; `undefined` if there is none, or an incomplete one. */
export const readPosition = async (folder: string): Promise<ShippedPosition | undefined> => {
  const buffer = await readFile(positionPath(folder));
  if (buffer.length < positionBytes) return undefined;
  if (crc32(buffer.subarray(4)) !== buffer.readUInt32BE(0)) return undefined;
  return {
    segment: buffer.readDoubleBE(4),
    offset: buffer.readDoubleBE(12),
    through: buffer.readDoubleBE(20),
  };
};

/** Opens the position file of a spool, for `writePosition`. */
export const openPosition = (folder: string): Promise<FileHandle> =>
  open(positionPath(folder), constants.O_WRONLY | constants.O_CREAT, 0o600);

/**
 * Writes the position in place, which needs no space on a full disk. If the position lags or is lost, records are
 * shipped again, and readers drop the duplicates by sequence.
 */
export const writePosition = async (
  file: FileHandle,
  { segment, offset, through }: ShippedPosition,
): Promise<void> => {
  const buffer = Buffer.alloc(positionBytes);
  buffer.writeDoubleBE(segment, 4);
  buffer.writeDoubleBE(offset, 12);
  buffer.writeDoubleBE(through, 20);
  buffer.writeUInt32BE(crc32(buffer.subarray(4)), 0);
  await file.write(buffer, 0, positionBytes, 0);
};
