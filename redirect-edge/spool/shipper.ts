import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Backlog } from './backlog.js';
import type { SpoolCounters } from './counters.js';
import type { Ship } from './ports.js';
import { untilAborted } from '../../ops/platform/concurrency/deferred.js';
import { retry } from '../../ops/platform/concurrency/retry.js';

export interface ShipperOptions {
  readonly ship: Ship;
  readonly counters: SpoolCounters;
  readonly logger: Logger;
  /** Ends all shipping at once, in the middle of a batch if need be. */
  readonly signal: AbortSignal;
}

/** Moves backlogs into the log, each in order, a batch at a time. */
export class Shipper {
  #logIsAway = false;

  constructor(private readonly options: ShipperOptions) {}

  /**
   * Hands the next batch to the log, however long the log is away. Resolves with whether more was
   * there than fits in it; `undefined` when nothing was there.
   *
   * @throws the signal's reason, or what the file system threw on reading
   */
  async shipNext(backlog: Backlog): Promise<{ full: boolean } | undefined> {
    const { ship, counters, logger, signal } = this.options;
    const chunk = await backlog.read();
    if (!chunk) return undefined;
    const shipped = await retry(() => untilAborted(ship(chunk.bytes), signal), {
      signal,
      onFailure: (error) => {
        counters.shipFailures += 1;
        if (this.#logIsAway) return;
        this.#logIsAway = true;
        logger.warn({ err: error }, 'The log does not take visits; they are kept in the spool');
      },
    });
    if (this.#logIsAway) {
      this.#logIsAway = false;
      logger.info('The log takes visits again');
    }
    counters.shipped += shipped.records;
    return { full: await backlog.confirm(chunk, shipped) };
  }
}

/** Lets one loop sleep until there is something to do. */
class Bell {
  #wake: (() => void) | undefined;

  ring(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  rung(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/**
 * The least time between the starts of two batches that are not full. A visit that finds the
 * shipper idle goes at once; under load, a `send` for every few visits, and the projectors' folding
 * of each, would cost more than all the rest of a redirect.
 */
const batchIntervalMs = 100;

/** Ships the spool that is being written, for as long as that goes on. */
export class LiveShipping {
  readonly #bell = new Bell();
  #finishing = false;

  constructor(
    private readonly shipper: Shipper,
    private readonly backlog: Backlog,
    private readonly options: { readonly logger: Logger; readonly signal: AbortSignal },
  ) {}

  /** Something was written. */
  notify(): void {
    this.#bell.ring();
  }

  /** Makes `run` end as soon as all is shipped. */
  finish(): void {
    this.#finishing = true;
    this.#bell.ring();
  }

  /** @throws the signal's reason, when it comes before all is shipped */
  async run(): Promise<void> {
    const { signal, logger } = this.options;
    for (;;) {
      const started = performance.now();
      const batch = await retry(() => this.shipper.shipNext(this.backlog), {
        signal,
        onFailure: (error) => {
          logger.error({ err: error }, 'The spool cannot be read');
        },
      });
      if (batch && !batch.full) {
        await sleep(started + batchIntervalMs - performance.now(), undefined, { signal });
      }
      // Between this look and the bell nothing can be written: both are in the same turn.
      if (!this.backlog.isEmpty) continue;
      if (this.#finishing) return;
      await this.#bell.rung();
    }
  }
}
