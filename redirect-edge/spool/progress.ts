import { open, readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { errorCode } from './errors.js';

/** How far a spool is in the log. */
export interface Progress {
  /** The segment's `first`. */
  readonly segment: number;
  /** Bytes of that segment that are in the log. */
  readonly offset: number;
  /** The last sequence that is in the log, 0 for none. */
  readonly through: number;
}

const bytes = 28;

const fileOf = (folder: string): string => join(folder, 'shipped');

const decode = (buffer: Buffer): Progress | undefined => {
  if (buffer.length < bytes || crc32(buffer.subarray(4)) !== buffer.readUInt32BE(0))
    return undefined;
  return {
    segment: buffer.readDoubleBE(4),
    offset: buffer.readDoubleBE(12),
    through: buffer.readDoubleBE(20),
  };
};

/** The progress of a spool that may be another process's; half a write of that one is none. */
export const readProgress = async (folder: string): Promise<Progress | undefined> =>
  decode(await readFile(fileOf(folder)));

/**
 * Remembers the progress of a spool in one small file, written in place: that needs no space on a
 * full disk. It may lag behind or be lost; then records are shipped again, and readers drop them by
 * their sequence.
 */
export class ProgressFile {
  private constructor(private readonly handle: FileHandle) {}

  static async open(folder: string): Promise<ProgressFile> {
    const path = fileOf(folder);
    try {
      return new ProgressFile(await open(path, 'r+', 0o600));
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
      return new ProgressFile(await open(path, 'w+', 0o600));
    }
  }

  /** What was written last, `undefined` when nothing (whole) was. */
  async read(): Promise<Progress | undefined> {
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await this.handle.read(buffer, 0, bytes, 0);
    return decode(buffer.subarray(0, bytesRead));
  }

  async write({ segment, offset, through }: Progress): Promise<void> {
    const buffer = Buffer.alloc(bytes);
    buffer.writeDoubleBE(segment, 4);
    buffer.writeDoubleBE(offset, 12);
    buffer.writeDoubleBE(through, 20);
    buffer.writeUInt32BE(crc32(buffer.subarray(4)), 0);
    await this.handle.write(buffer, 0, bytes, 0);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}
