import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { validate as isUuid } from 'uuid';
import type { DiskUsage, SpoolCounters } from './counters.js';
import { errorCode } from './errors.js';
import { discardFolder, isNewborn, leaveFolder, type SpoolFolder } from './folder.js';
import { openOrphan, type Orphan } from './orphan.js';
import type { AcquireLock } from './ports.js';
import { listSegments } from './segment.js';
import type { Shipper } from './shipper.js';

export interface AdoptionOptions {
  /** See `spoolRoot`. */
  readonly root: string;
  /** This process's own spool. */
  readonly ownId: string;
  readonly acquireLock: AcquireLock;
  readonly shipper: Shipper;
  readonly scanEveryMs: number;
  readonly usage: DiskUsage;
  readonly counters: SpoolCounters;
  readonly logger: Logger;
  /** Ends scanning and shipping at once. */
  readonly signal: AbortSignal;
}

/**
 * Takes over the spools whose owners are gone and ships them, one after the other, under the source
 * and the sequences that they have. All that can be locked are, so that they count for the cap.
 */
export class Adoption {
  /** Adopted and not wholly shipped yet; the first one is being shipped. */
  readonly #orphans: Orphan[] = [];
  readonly #scanning = new AbortController();
  #shipping: Promise<void> | undefined;
  #running: Promise<void> | undefined;

  constructor(private readonly options: AdoptionOptions) {}

  /** Scans now and every `scanEveryMs`. */
  start(): void {
    this.#running = this.#scanForEver();
  }

  /** What is left to ship of the spools adopted so far. */
  depth(): { bytes: number; events: number } {
    const sum = { bytes: 0, events: 0 };
    for (const { backlog, last } of this.#orphans) {
      if (backlog.isEmpty) continue;
      sum.bytes += backlog.bytes;
      sum.events += last - backlog.through;
    }
    return sum;
  }

  /**
   * Adopts no more, and resolves when what was adopted is shipped or the signal has come. What is
   * not shipped then is unlocked for others.
   */
  async finish(): Promise<void> {
    this.#scanning.abort();
    await this.#running;
    await this.#shipping;
    for (const orphan of this.#orphans.splice(0)) await this.#leave(orphan);
  }

  async #scanForEver(): Promise<void> {
    const { scanEveryMs, logger } = this.options;
    const { signal } = this.#scanning;
    while (!signal.aborted) {
      try {
        await this.#scan();
      } catch (error) {
        logger.error({ err: error }, 'The spools of other processes cannot be looked for');
      }
      // Its only failure is the signal, and the loop asks for that itself.
      await sleep(scanEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #scan(): Promise<void> {
    const { root, ownId, logger } = this.options;
    const known = new Set([ownId, ...this.#orphans.map(({ folder }) => folder.id)]);
    const ids = (await readdir(root)).filter((name) => isUuid(name) && !known.has(name));
    // UUIDv7s: the oldest spool first.
    for (const id of ids.sort()) {
      if (this.#scanning.signal.aborted) return;
      try {
        await this.#adopt(id);
      } catch (error) {
        // Another edge was quicker, and is through with it already.
        if (errorCode(error) === 'ENOENT') continue;
        logger.error({ err: error, spool: id }, 'A spool cannot be adopted; tried again later');
      }
    }
  }

  async #adopt(id: string): Promise<void> {
    const { root, acquireLock, counters, logger } = this.options;
    const path = join(root, id);
    if ((await listSegments(path)).length === 0 && (await isNewborn(path))) return;
    const lock = await acquireLock(path, { waitMs: 0 }).catch((error: unknown) => {
      if (errorCode(error) === 'LOCK_HELD') return undefined;
      throw error;
    });
    if (!lock) return;
    const folder: SpoolFolder = { id, path, lock };
    let orphan: Orphan | undefined;
    try {
      orphan = await openOrphan(folder, this.options);
    } catch (error) {
      leaveFolder(folder, logger);
      throw error;
    }
    if (!orphan) {
      await discardFolder(folder, logger);
      return;
    }
    counters.adopted += 1;
    const { bytes } = orphan.backlog;
    logger.info({ spool: id, bytes }, 'The spool of a process that is gone is adopted');
    this.#orphans.push(orphan);
    this.#shipping ??= this.#shipAll();
  }

  async #shipAll(): Promise<void> {
    const { shipper, logger, signal } = this.options;
    for (let orphan = this.#orphans[0]; orphan; orphan = this.#orphans[0]) {
      try {
        while (await shipper.shipNext(orphan.backlog));
        await orphan.backlog.close();
        await discardFolder(orphan.folder, logger);
        logger.info({ spool: orphan.folder.id }, 'An adopted spool is shipped');
      } catch (error) {
        // `finish` unlocks this one and the others behind it.
        if (signal.aborted) return;
        const spool = orphan.folder.id;
        logger.error({ err: error, spool }, 'An adopted spool cannot be read; tried again later');
        await this.#leave(orphan);
      }
      this.#orphans.shift();
    }
    // In the same turn as the last look at the list, so that what is adopted next begins anew.
    this.#shipping = undefined;
  }

  async #leave({ folder, backlog }: Orphan): Promise<void> {
    this.options.usage.bytes -= backlog.fileBytes;
    await backlog.close();
    leaveFolder(folder, this.options.logger);
  }
}
