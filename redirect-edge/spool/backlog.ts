import { createReadStream, createWriteStream } from 'node:fs';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import type { DiskUsage, SpoolCounters } from './counters.js';
import type { Shipped } from './ports.js';
import type { Progress, ProgressFile } from './progress.js';
import { maxRecordBytes } from './record.js';
import type { Segment } from './segment.js';

/** Bytes read at a time: the bound of a batch and of the memory that a backlog needs. */
const chunkBytes = 8 * maxRecordBytes;

/** Consecutive records of one segment, as its file has them. */
export interface BacklogChunk {
  /** At least one record, the last one maybe cut short; valid until the next `read`. */
  readonly bytes: Buffer;
  /** Where the segment ended when it was read. */
  readonly limit: number;
}

export interface BacklogOptions {
  readonly spoolId: string;
  readonly segments: readonly Segment[];
  /** Where to go on; at the start of the first segment unless told. */
  readonly from: Progress | undefined;
  readonly progress: ProgressFile;
  readonly usage: DiskUsage;
  readonly counters: SpoolCounters;
  readonly logger: Logger;
}

/**
 * What of one spool is not in the log yet: its segments, oldest first, and the place in the first
 * of them. Always read from the files, also what was written a moment ago: that costs about a
 * microsecond a record out of the page cache, and needs the same bounded memory however long the
 * log is away.
 */
export class Backlog {
  readonly #segments: Segment[];
  #offset = 0;
  #through = 0;
  #handle: FileHandle | undefined;
  #chunk: Buffer | undefined;

  constructor(private readonly options: BacklogOptions) {
    const { segments, from } = options;
    // Segments before the place are shipped; that they are still there is a deletion that failed.
    this.#segments = segments.filter(({ first }) => !from || first >= from.segment);
    if (!from) return;
    this.#through = from.through;
    if (this.#segments[0]?.first === from.segment) this.#offset = from.offset;
  }

  /** Takes a segment that has just been begun. */
  add(segment: Segment): void {
    this.#segments.push(segment);
  }

  /** The last sequence that is in the log, 0 for none. */
  get through(): number {
    return this.#through;
  }

  /** Bytes that are not in the log yet. */
  get bytes(): number {
    return this.#segments.reduce((sum, { length }) => sum + length, -this.#offset);
  }

  /** Bytes that its files hold, shipped or not. */
  get fileBytes(): number {
    return this.#segments.reduce((sum, { length }) => sum + length, 0);
  }

  get isEmpty(): boolean {
    return this.bytes <= 0;
  }

  /**
   * The next records, `undefined` when there are none; from the same one on until it is confirmed.
   * Not to be called again before it has resolved.
   *
   * @throws what the file system threw; calling again is safe
   */
  async read(): Promise<BacklogChunk | undefined> {
    await this.#dropShipped();
    const segment = this.#segments[0];
    if (!segment || this.#offset >= segment.length) return undefined;
    const limit = segment.length;
    this.#handle ??= await open(segment.path, 'r');
    this.#chunk ??= Buffer.from(new SharedArrayBuffer(chunkBytes));
    const wanted = Math.min(limit - this.#offset, chunkBytes);
    const { bytesRead } = await this.#handle.read(this.#chunk, 0, wanted, this.#offset);
    return { bytes: this.#chunk.subarray(0, bytesRead), limit };
  }

  /**
   * The log has the records at the beginning of the chunk that was read last.
   *
   * @returns whether the segment held more than them
   * @throws what the file system threw; nothing is confirmed then
   */
  async confirm({ limit }: BacklogChunk, { records, bytes, through }: Shipped): Promise<boolean> {
    const segment = this.#segments[0];
    if (!segment) throw new Error('A chunk was confirmed that was not read');
    const end = this.#offset + bytes;
    if (records > 0) await this.#advance(segment, end, through);
    else {
      // A chunk holds any record whole, so this one is damaged, and what follows it out of reach.
      await this.#putAside(segment, limit);
      await this.#advance(segment, limit, this.#through);
    }
    await this.#dropShipped();
    return end < limit;
  }

  /** Closes its files and leaves them where they are. */
  async close(): Promise<void> {
    await this.#closeSegment();
    await this.options.progress.close();
    this.#chunk = undefined;
  }

  async #advance(segment: Segment, offset: number, through: number): Promise<void> {
    this.#offset = offset;
    this.#through = through;
    try {
      await this.options.progress.write({ segment: segment.first, offset, through });
    } catch (error) {
      // Only costs repeats after a crash, which readers drop.
      this.options.logger.warn({ err: error }, 'The progress of a spool could not be written');
    }
  }

  async #dropShipped(): Promise<void> {
    const { usage, logger } = this.options;
    for (;;) {
      const segment = this.#segments[0];
      if (!segment?.closed || this.#offset < segment.length) return;
      await this.#closeSegment();
      this.#segments.shift();
      this.#offset = 0;
      try {
        await unlink(segment.path);
        usage.bytes -= segment.length;
      } catch (error) {
        // It goes with its folder; until then it takes space and is counted.
        logger.error({ err: error, file: segment.path }, 'A shipped segment cannot be deleted');
      }
    }
  }

  async #closeSegment(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  /** Keeps the bytes from the current place up to `limit` beside the spool folders, for a person. */
  async #putAside(segment: Segment, limit: number): Promise<void> {
    const { spoolId, counters, logger } = this.options;
    const offset = this.#offset;
    const root = dirname(dirname(segment.path));
    const name = basename(segment.path, '.seg');
    const keptAs = join(root, `${spoolId}.${name}.${offset}.bad`);
    await pipeline(
      createReadStream(segment.path, { start: offset, end: limit - 1 }),
      createWriteStream(keptAs, { mode: 0o600 }),
    );
    counters.damaged += 1;
    logger.error(
      { file: segment.path, offset, bytes: limit - offset, keptAs },
      'A segment of the spool is damaged: the visits from this offset to its end are not shipped',
    );
  }
}
