import { open, unlink, type FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../../ops/platform/concurrency/deferred.js';
import { retry } from '../../ops/platform/concurrency/retry.js';
import type { WakeUp } from '../../ops/platform/concurrency/wake-up.js';
import type { Durations } from '../../ops/platform/metrics/durations.js';
import type { SpoolContext } from './folder.js';
import { maxRecordBytes } from './record.js';
import { setAside } from './set-aside.js';
import { writePosition, type Segment, type ShippedPosition } from './segment.js';

/** What of a chunk the log has. */
export interface Shipped {
  /** How many records, from the chunk's beginning. */
  readonly records: number;
  /** Bytes that they take. */
  readonly bytes: number;
  /** The last one's number in its spool; 0 for none. */
  readonly through: number;
}

/** How visits get from the spool to the log. */
export interface Shipping {
  /**
   * The least time between the starts of two batches that are not full, in milliseconds. A visit that
   * finds the shipper idle goes at once; under load, an append for every few visits, and the projectors'
   * folding of each, would cost more than all the rest of a redirect.
   */
  readonly paceMs: number;
  /**
   * Appends the records at the beginning of a chunk of a spool's file to the log's topic of visits:
   * as many as it likes, none only where the first one is damaged. Resolves when the log has them
   * for good. The chunk is shared memory, so that another thread may do it, and is not changed
   * before that. After a rejection the same chunk is offered again: the log may see repeats, never a
   * gap. The chunks of one spool come one after the other; those of two spools may overlap.
   */
  ship(chunk: Buffer, spoolId: string): Promise<Shipped>;
  /** Gives up what it is doing; the spool offers again what the log may not have. */
  stop(): Promise<void>;
}

/** Bytes read at a time: the bound of a batch and of the memory that a backlog needs. */
const chunkBytes = 4 * maxRecordBytes;

/**
 * What of one spool is not in the log yet: its segments, oldest first, and the position in the first
 * of them. Always read from the files, also what was written a moment ago: that costs about a
 * microsecond a record out of the page cache, and needs the same bounded memory however long the
 * log is away.
 */
export class Backlog {
  readonly #segments: Segment[];
  #offset = 0;
  #through = 0;
  /** Of segments that are shipped and could not be deleted: they go with their folder. */
  #undeletedBytes = 0;
  #handle: FileHandle | undefined;
  #chunk: Buffer | undefined;
  /** Where the segment ended when the chunk was read. */
  #limit = 0;

  /** @param from where to go on; at the start of the first segment unless given */
  constructor(
    readonly spoolId: string,
    private readonly positionFile: FileHandle,
    private readonly context: SpoolContext,
    segments: readonly Segment[] = [],
    from?: ShippedPosition,
  ) {
    // Segments before the position are shipped; they are still there if a deletion failed.
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
    return this.#segmentBytes - this.#offset;
  }

  /** Bytes that its files take on the disk, shipped or not. */
  get diskBytes(): number {
    return this.#segmentBytes + this.#undeletedBytes;
  }

  get #segmentBytes(): number {
    return this.#segments.reduce((sum, { length }) => sum + length, 0);
  }

  get isEmpty(): boolean {
    return this.bytes <= 0;
  }

  /**
   * The next records as the file has them, the last one maybe cut short; `undefined` when there are
   * none. From the same one on until it is confirmed. Valid until the next call, which must not come
   * before this one has resolved.
   *
   * @throws what the file system threw; calling again is safe
   */
  async read(): Promise<Buffer | undefined> {
    await this.#dropShipped();
    const segment = this.#segments[0];
    if (!segment || this.#offset >= segment.length) return undefined;
    this.#limit = segment.length;
    this.#handle ??= await open(segment.path, 'r');
    this.#chunk ??= Buffer.from(new SharedArrayBuffer(chunkBytes));
    const wanted = Math.min(this.#limit - this.#offset, chunkBytes);
    const { bytesRead } = await this.#handle.read(this.#chunk, 0, wanted, this.#offset);
    return this.#chunk.subarray(0, bytesRead);
  }

  /**
   * The log has the records at the beginning of the chunk that was read last.
   *
   * @returns whether the segment held more than them
   * @throws what the file system threw; nothing is confirmed then
   */
  async confirm({ records, bytes, through }: Shipped): Promise<boolean> {
    const segment = this.#segments[0];
    if (!segment) throw new Error('A chunk was confirmed that was not read');
    const limit = this.#limit;
    const end = this.#offset + bytes;
    if (records > 0) await this.#advance(segment, end, through);
    else {
      // A chunk holds any record whole, so this one is damaged, and what follows it out of reach.
      await this.#setAside(segment, limit);
      await this.#advance(segment, limit, this.#through);
    }
    await this.#dropShipped();
    return end < limit;
  }

  /** Closes its files and leaves them where they are. */
  async close(): Promise<void> {
    await this.#closeSegment();
    await this.positionFile.close();
    this.#chunk = undefined;
  }

  async #advance(segment: Segment, offset: number, through: number): Promise<void> {
    this.#offset = offset;
    this.#through = through;
    try {
      await writePosition(this.positionFile, { segment: segment.first, offset, through });
    } catch (error) {
      // Only costs repeats after a crash, which readers drop.
      this.context.logger.warn({ err: error }, 'the position of a spool could not be written');
    }
  }

  async #dropShipped(): Promise<void> {
    const { logger } = this.context;
    for (;;) {
      const segment = this.#segments[0];
      if (!segment?.closed || this.#offset < segment.length) return;
      await this.#closeSegment();
      this.#segments.shift();
      this.#offset = 0;
      try {
        await unlink(segment.path);
      } catch (error) {
        this.#undeletedBytes += segment.length;
        logger.error({ err: error, file: segment.path }, 'a shipped segment cannot be deleted');
      }
    }
  }

  async #closeSegment(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  /** The bytes from the current position up to `limit`. */
  async #setAside(segment: Segment, limit: number): Promise<void> {
    const { counters, logger } = this.context;
    const offset = this.#offset;
    const keptAs = await setAside(segment, { spoolId: this.spoolId, offset, limit }, logger);
    counters.damaged += 1;
    logger.error(
      { file: segment.path, offset, bytes: limit - offset, keptAs },
      'a segment of the spool is damaged: the visits from this offset to its end are not shipped',
    );
  }
}

export interface ShipperOptions extends SpoolContext {
  readonly shipping: Shipping;
  /** How long the log takes for a batch. */
  readonly durations?: Pick<Durations, 'observeSince'> | undefined;
  /** Tries of a batch; without end unless given. */
  readonly attempts?: number;
  /** Ends all shipping at once, in the middle of a batch if need be. */
  readonly signal: AbortSignal;
}

/** Moves backlogs into the log, each in order, a batch at a time. */
export class Shipper {
  #logIsAway = false;

  constructor(private readonly options: ShipperOptions) {}

  /**
   * Hands the next batch to the log, however long the log is away unless `attempts` says. Resolves with whether more was
   * there than fits in it; `undefined` when nothing was there.
   *
   * @throws the signal's reason, what the file system threw on reading, or the log at the last attempt
   */
  async shipNext(backlog: Backlog): Promise<{ full: boolean } | undefined> {
    const { shipping, durations, counters, logger, attempts, signal } = this.options;
    const chunk = await backlog.read();
    if (!chunk) return undefined;
    const ship = async (): Promise<Shipped> => {
      const startedAt = performance.now();
      const shipped = await untilAborted(shipping.ship(chunk, backlog.spoolId), signal);
      durations?.observeSince(startedAt);
      return shipped;
    };
    const shipped = await retry(ship, {
      ...(attempts !== undefined && { attempts }),
      signal,
      onFailure: (error) => {
        counters.shipFailures += 1;
        if (this.#logIsAway) return;
        this.#logIsAway = true;
        logger.warn({ err: error }, 'the log does not take visits; they are kept in the spool');
      },
    });
    if (this.#logIsAway) {
      this.#logIsAway = false;
      logger.info('the log takes visits again');
    }
    counters.shipped += shipped.records;
    return { full: await backlog.confirm(shipped) };
  }

  /**
   * Ships a backlog that still grows, until it has ended and all of it is shipped.
   *
   * @param changed woken after each write, and at the end
   * @throws the signal's reason, when it comes before all is shipped
   */
  async shipWhileWritten(
    backlog: Backlog,
    changed: WakeUp,
    hasEnded: () => boolean,
  ): Promise<void> {
    const { shipping, signal, logger } = this.options;
    for (;;) {
      const startedAt = performance.now();
      const batch = await retry(() => this.shipNext(backlog), {
        signal,
        onFailure: (error) => {
          logger.error({ err: error }, 'the spool cannot be read');
        },
      });
      if (batch && !batch.full) {
        await sleep(startedAt + shipping.paceMs - performance.now(), undefined, { signal });
      }
      if (!backlog.isEmpty) continue;
      if (hasEnded()) return;
      await changed.sleep();
    }
  }
}
