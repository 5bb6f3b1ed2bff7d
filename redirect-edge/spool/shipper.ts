import { open, unlink, type FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted, type WakeUp } from '../../ops/platform/concurrency/deferred.js';
import { retry } from '../../ops/platform/concurrency/retry.js';
import { createOutageLog, type OutageLog } from '../../ops/platform/logging.js';
import type { Durations } from '../../ops/platform/metrics/metrics.js';
import type { SpoolContext } from './folder.js';
import { maxRecordBytes } from './record.js';
import { setAside } from './set-aside.js';
import { writePosition, type Segment, type ShippedPosition } from './segment.js';

/** The part of a chunk that is in the log. */
export interface Shipped {
  readonly visits: number;
  /** The size of their records, from the start of the chunk. */
  readonly bytes: number;
}

/** Appends records of spools to the log. */
export interface Shipping {
  /**
   * The least time between the starts of two batches that are not full (ms). A visit is shipped immediately if the
   * shipper is idle. Under load, appending and projecting a batch for every few visits would cost more than the
   * redirects.
   */
  readonly paceMs: number;
  /**
   * Appends records from the start of a chunk of a spool's file to the topic of visits. It chooses how many; none
   * means that the first record is damaged. Resolves when they are durable in the log. The chunk is shared memory, so
   * that another thread can read it, and is not changed before that. After a rejection the same chunk is shipped
   * again, so the log may have duplicates, but no gaps. The chunks of one spool are shipped sequentially, those of
   * different spools concurrently.
   */
  ship(chunk: Buffer): Promise<Shipped>;
  /** Aborts running calls. The spool ships their records again. */
  stop(): Promise<void>;
}

/** The size of a read, with room for the largest batch (`maxPortion`): the bound of the memory of a backlog. */
const chunkBytes = 20 * maxRecordBytes;

/**
 * The part of one spool that is not in the log yet: its segments, oldest first, and the position in the first one.
 * Records are always read from the files, including recent ones. From the page cache, that costs about a microsecond a
 * record, and memory is bounded however long the log is unreachable.
 */
export class Backlog {
  readonly #segments: Segment[];
  #offset = 0;
  #through = 0;
  /** The size of shipped segments that could not be deleted. They are deleted with their folder. */
  #undeletedBytes = 0;
  #handle: FileHandle | undefined;
  #chunk: Buffer | undefined;
  /** The end of the segment when the chunk was read. */
  #limit = 0;

  /** @param from the position to continue from; by default the start of the first segment */
  constructor(
    readonly spoolId: string,
    private readonly positionFile: FileHandle,
    private readonly context: SpoolContext,
    segments: readonly Segment[] = [],
    from?: ShippedPosition,
  ) {
    // Segments before the position are shipped, but could not be deleted.
    this.#segments = segments.filter(({ first }) => !from || first >= from.segment);
    if (!from) return;
    this.#through = from.through;
    if (this.#segments[0]?.first === from.segment) this.#offset = from.offset;
  }

  add(segment: Segment): void {
    this.#segments.push(segment);
  }

  /** The number of visits in the log. */
  get through(): number {
    return this.#through;
  }

  /** Bytes that are not in the log yet. */
  get bytes(): number {
    return this.#segmentBytes - this.#offset;
  }

  /** The size of its files on disk, shipped or not. */
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
   * Reads the next records; the last one may be incomplete. `undefined` if there are none. Until `confirm`, it starts
   * at the same record. The result is valid until the next call, which must follow after this one has resolved.
   *
   * @throws the error of the file system; calling again is safe
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
   * Confirms that the log has the records at the start of the last read chunk.
   *
   * @returns whether the segment has more records
   * @throws the error of the file system; then nothing is confirmed
   */
  async confirm({ visits, bytes }: Shipped): Promise<boolean> {
    const segment = this.#segments[0];
    if (!segment) throw new Error('confirm() was called before read()');
    const limit = this.#limit;
    const end = this.#offset + bytes;
    if (visits > 0) await this.#advance(segment, end, this.#through + visits);
    else {
      // A chunk has room for any record, so this one is damaged, and the following ones cannot be found.
      await this.#setAside(segment, limit);
      await this.#advance(segment, limit, this.#through);
    }
    await this.#dropShipped();
    return end < limit;
  }

  /** Closes its files without deleting them. */
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
      // After a crash, records are shipped again, and readers drop the duplicates.
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
      // The visits of a damaged segment are not counted.
      this.#through = Math.max(this.#through, (this.#segments[0]?.first ?? 1) - 1);
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

  /** Sets aside the bytes from the current position up to `limit`. */
  async #setAside(segment: Segment, limit: number): Promise<void> {
    const { counters, logger } = this.context;
    const offset = this.#offset;
    const copyPath = await setAside(segment, { spoolId: this.spoolId, offset, limit }, logger);
    counters.damaged += 1;
    logger.error(
      { file: segment.path, offset, bytes: limit - offset, copyPath },
      'a segment of the spool is damaged: the visits from this offset to its end are not shipped',
    );
  }
}

export interface ShipperOptions extends SpoolContext {
  readonly shipping: Shipping;
  /** Durations of appends of a batch. */
  readonly durations?: Pick<Durations, 'observeSince'> | undefined;
  /** Attempts for a batch; unlimited by default. */
  readonly attempts?: number;
  /** Aborts shipping, even during a batch. */
  readonly signal: AbortSignal;
}

/** Ships backlogs to the log, each in order, one batch after another. */
export class Shipper {
  readonly #outage: OutageLog;

  constructor(private readonly options: ShipperOptions) {
    const message = 'the log is unavailable; visits stay in the spool';
    this.#outage = createOutageLog(options.logger, message, 'the log accepts visits again');
  }

  /**
   * Ships the next batch, with retries while the log is unreachable. Resolves with whether the batch was full, or with
   * `undefined` if the backlog is empty.
   *
   * @throws the signal's reason, the error of reading the files, or the log's error after the last attempt
   */
  async shipNext(backlog: Backlog): Promise<{ full: boolean } | undefined> {
    const { shipping, durations, counters, attempts, signal } = this.options;
    const chunk = await backlog.read();
    if (!chunk) return undefined;
    const ship = async (): Promise<Shipped> => {
      const startedAt = performance.now();
      const shipped = await untilAborted(shipping.ship(chunk), signal);
      durations?.observeSince(startedAt);
      return shipped;
    };
    const shipped = await retry(ship, {
      ...(attempts !== undefined && { attempts }),
      signal,
      onFailure: (error) => {
        counters.shipFailures += 1;
        this.#outage.failed(error);
      },
    });
    this.#outage.recovered();
    counters.shipped += shipped.visits;
    return { full: await backlog.confirm(shipped) };
  }

  /**
   * Ships a backlog that grows, until `hasEnded` and all of it is shipped.
   *
   * @param changed woken after each write, and at the end
   * @throws the signal's reason, if it is aborted before
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
