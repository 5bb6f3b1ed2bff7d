/** The files of one spool: segments of records, and how far they are shipped. */
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

/** One file of a spool: records in ascending order of their sequence, and nothing else. */
export interface Segment {
  /** The file's name as a number: no record in it has a lower sequence. */
  readonly first: number;
  readonly path: string;
  /** Bytes from the start that hold good records. Bytes beyond them are left from a failed write. */
  length: number;
  /** Nothing will be written to it any more. */
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

/** The calls that a full or failing disk makes fail; a test puts its own in their place. */
export const nodeFiles = {
  /** Makes a file that must not exist yet. */
  create: (path: string): number => openSync(path, 'wx', 0o600),
  /** May write less than asked; returns how much. */
  write: (fd: number, bytes: Buffer, offset: number, length: number, position: number): number =>
    writeSync(fd, bytes, offset, length, position),
  sync: fdatasyncSync,
  truncate: ftruncateSync,
};

export type SegmentFiles = typeof nodeFiles;

/** Makes a new entry of a folder survive power loss. */
export const syncFolder = (folder: string): void => {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};

/**
 * Writes the segments of one spool, synchronously: all visitors of the tick wait for the write, and
 * a hop to the thread pool costs more than the write.
 */
export class SegmentWriter {
  #fd = -1;
  #segment: Segment | undefined;
  /** Part of a failed write may stand behind the good records. */
  #torn = false;

  constructor(
    private readonly options: {
      readonly folder: string;
      /** A segment that has reached this size is closed. */
      readonly segmentBytes: number;
      readonly fsync: boolean;
      readonly files: SegmentFiles;
      readonly logger: Logger;
      /** Called with each new segment before anything is in it. */
      readonly onSegment: (segment: Segment) => void;
    },
  ) {}

  /**
   * Writes records; when it returns they survive this process (with `fsync`, power loss too).
   *
   * @param first the lowest sequence among them
   * @throws what the file system threw. None of the records is kept then: `length` still ends
   *   before them, so the shipper never sees them, and the file is cut there. Where even the cut
   *   fails, nothing more is written until it succeeds. If the process dies before that, the edge
   *   that adopts the spool may count those visits, though they got no redirect. The opposite, a
   *   visit redirected and not counted, cannot happen.
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
      // Where the cut fails, the next write tries it again, and fails if that fails.
      this.#tryToCut(segment);
      throw error;
    }
    segment.length += bytes.length;
    if (segment.length >= segmentBytes) this.close();
  }

  /** Ends the segment; the next write begins another. */
  close(): void {
    if (!this.#segment) return;
    // The last try; see `write` for what follows when it fails.
    if (this.#torn) this.#tryToCut(this.#segment);
    this.#segment.closed = true;
    this.#segment = undefined;
    this.#torn = false;
    try {
      closeSync(this.#fd);
    } catch (error) {
      // The records were written, and are read through another descriptor.
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
      // The next segment has the same number, and so the same name.
      rmSync(path, { force: true });
      throw error;
    }
    this.#fd = fd;
    this.#segment = { first, path, length: 0, closed: false };
    onSegment(this.#segment);
    return this.#segment;
  }

  #tryToCut(segment: Segment): void {
    try {
      this.#cut(segment);
    } catch (error) {
      this.options.logger.error({ err: error }, 'the spool cannot take back a failed write');
    }
  }

  #cut(segment: Segment): void {
    this.options.files.truncate(this.#fd, segment.length);
    this.#torn = false;
  }
}

/** How far a spool is in the log. */
export interface ShippedPosition {
  /** The segment's `first`. */
  readonly segment: number;
  /** Bytes of that segment that are in the log. */
  readonly offset: number;
  /** The last sequence that is in the log, 0 for none. */
  readonly through: number;
}

const positionBytes = 28;

const positionPath = (folder: string): string => join(folder, 'shipped');

/** The position that was written last, `undefined` when none (whole) was. */
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

/** Opens the file of a spool's position, for `writePosition`. */
export const openPosition = (folder: string): Promise<FileHandle> =>
  open(positionPath(folder), constants.O_WRONLY | constants.O_CREAT, 0o600);

/**
 * Writes the position in place: that needs no space on a full disk. The position may lag behind or be
 * lost; then records are shipped again, and readers drop them by their sequence.
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
