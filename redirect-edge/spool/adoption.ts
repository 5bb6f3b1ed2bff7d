import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { validate as isUuid } from 'uuid';
import { periodically, type Periodic } from '../../ops/platform/concurrency/periodic.js';
import { hasCode, nullOn } from '../../ops/platform/errors.js';
import { isNewborn, type SpoolContext } from './folder.js';
import { adoptOrphan, leaveOrphan, shipOrphan, type Orphan } from './orphan.js';
import { listSegments } from './segment.js';
import { setAsideIn } from './set-aside.js';
import type { Shipper } from './shipper.js';

/** What ended processes have left in the root, as of the last scan. */
export interface LeftOver {
  /** Spools that nobody but this process has: adopted ones, and those that cannot be adopted. */
  readonly spools: number;
  /** Bytes of them that are not known to be in the log. */
  readonly bytes: number;
}

/** The ids of the spools in a root, the oldest first: they are UUIDv7s. */
export const spoolIdsIn = async (root: string): Promise<readonly string[]> =>
  (await readdir(root)).filter((name) => isUuid(name)).sort();

/**
 * Takes over the spools whose owners have ended and ships them, one after the other, under the source
 * and the sequences that they have.
 */
export class Adoption {
  /** Adopted and not wholly shipped yet; the first one is being shipped. */
  readonly #orphans: Orphan[] = [];
  /** The bytes of those that could not be adopted or read at the last try, by their ids. */
  readonly #stuck = new Map<string, number>();
  #setAside = { files: 0, bytes: 0 };
  readonly #scanning: Periodic;
  #isFinishing = false;
  #shipping: Promise<void> | undefined;

  /** Scans now and every `scanEveryMs`. */
  constructor(
    private readonly options: SpoolContext & {
      /** See `SpoolOptions`. */
      readonly root: string;
      /** This process's own spool. */
      readonly ownId: string;
      readonly shipper: Shipper;
      readonly scanEveryMs: number;
      /** Ends shipping at once. */
      readonly signal: AbortSignal;
    },
  ) {
    this.#scanning = periodically({
      name: 'adopt the spools of ended processes',
      everyMs: options.scanEveryMs,
      task: async () => {
        await this.#scan();
        return 0;
      },
      logger: options.logger,
    });
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

  leftOver(): LeftOver {
    let { bytes } = this.depth();
    for (const stuck of this.#stuck.values()) bytes += stuck;
    return { spools: this.#orphans.length + this.#stuck.size, bytes };
  }

  /** Damaged files in the root, as of the last scan. */
  setAside(): { readonly files: number; readonly bytes: number } {
    return this.#setAside;
  }

  /**
   * Adopts no more, and resolves when what was adopted is shipped or the signal has come. What is
   * not shipped then is unlocked for others.
   */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    await this.#scanning.stop();
    await this.#shipping;
    for (const orphan of this.#orphans.splice(0)) await leaveOrphan(orphan, this.options.logger);
  }

  async #scan(): Promise<void> {
    const { root, ownId, logger } = this.options;
    const known = new Set([ownId, ...this.#orphans.map(({ folder }) => folder.id)]);
    const ids = await spoolIdsIn(root);
    for (const id of this.#stuck.keys()) if (!ids.includes(id)) this.#stuck.delete(id);
    for (const id of ids) {
      if (this.#isFinishing) return;
      if (known.has(id)) continue;
      try {
        await this.#adopt(id);
        this.#stuck.delete(id);
      } catch (error) {
        // Another edge was quicker, and is through with it already.
        if (hasCode(error, 'ENOENT')) continue;
        logger.error({ err: error, spool: id }, 'a spool cannot be adopted; tried again later');
        await this.#noteStuck(id);
      }
    }
    this.#setAside = await setAsideIn(root);
  }

  async #adopt(id: string): Promise<void> {
    const { root, counters, logger } = this.options;
    const path = join(root, id);
    if ((await listSegments(path)).length === 0 && (await isNewborn(path))) return;
    const orphan = await nullOn(adoptOrphan(root, id, this.options), 'LOCK_HELD');
    if (!orphan) return;
    counters.adopted += 1;
    const { bytes } = orphan.backlog;
    logger.info({ spool: id, bytes }, 'the spool of an ended process is adopted');
    this.#orphans.push(orphan);
    this.#shipping ??= this.#shipAll();
  }

  async #noteStuck(id: string): Promise<void> {
    const path = join(this.options.root, id);
    // A folder that cannot be listed counts too, without its bytes.
    const segments = await listSegments(path).catch(() => []);
    this.#stuck.set(
      id,
      segments.reduce((sum, { length }) => sum + length, 0),
    );
  }

  async #shipAll(): Promise<void> {
    const { shipper, logger, signal } = this.options;
    for (let orphan = this.#orphans[0]; orphan; orphan = this.#orphans[0]) {
      const spool = orphan.folder.id;
      try {
        await shipOrphan(orphan, shipper, logger);
        logger.info({ spool }, 'an adopted spool is shipped');
      } catch (error) {
        // `finish` unlocks this one and the others behind it.
        if (signal.aborted) return;
        logger.error({ err: error, spool }, 'an adopted spool cannot be read; tried again later');
        await leaveOrphan(orphan, logger);
        await this.#noteStuck(spool);
      }
      this.#orphans.shift();
    }
    // In the same tick as the last look at the list, so that what is adopted next begins anew.
    this.#shipping = undefined;
  }
}
