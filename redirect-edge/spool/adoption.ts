import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { validate as isUuid } from 'uuid';
import { periodically, type Periodic } from '../../ops/platform/concurrency/periodic.js';
import { hasCode, nullOn } from '../../ops/platform/errors.js';
import { isNew, type SpoolContext } from './folder.js';
import { adoptOrphan, releaseOrphan, shipOrphan, type Orphan } from './orphan.js';
import { listSegments } from './segment.js';
import { setAsideIn } from './set-aside.js';
import type { Shipper } from './shipper.js';

/** The spools of ended processes in the root, as of the last scan. */
interface LeftOver {
  /** Spools that this process has adopted, and those that cannot be adopted. */
  readonly spools: number;
  /** Bytes of these spools that are not known to be in the log. */
  readonly bytes: number;
}

/** The ids of the spools in a root. They are UUIDv7, so the oldest is first. */
export const spoolIdsIn = async (root: string): Promise<readonly string[]> =>
  (await readdir(root)).filter((name) => isUuid(name)).sort();

/** Adopts the spools of ended processes and ships them, one after another, with their source and sequences. */
export class Adoption {
  /** Adopted spools that are not completely shipped. The first one is being shipped. */
  readonly #orphans: Orphan[] = [];
  /** The sizes of spools that could not be adopted or read at the last attempt, by id. */
  readonly #stuck = new Map<string, number>();
  #setAside = { files: 0, bytes: 0 };
  readonly #scanning: Periodic;
  #isFinishing = false;
  #shipping: Promise<void> | undefined;

  /** Scans immediately, and then every `scanEveryMs`. */
  constructor(
    private readonly options: SpoolContext & {
      /** See `SpoolOptions`. */
      readonly root: string;
      /** This process's own spool. */
      readonly ownId: string;
      readonly shipper: Shipper;
      readonly scanEveryMs: number;
      /** Aborts shipping. */
      readonly signal: AbortSignal;
    },
  ) {
    this.#scanning = periodically({
      name: 'adopt the spools of ended processes',
      everyMs: options.scanEveryMs,
      task: () => this.#scan(),
      logger: options.logger,
    });
  }

  /** The visits of adopted spools that are not shipped yet. */
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
   * Stops adopting, and resolves when adopted spools are shipped or the signal is aborted. Then it unlocks the spools
   * that are not shipped.
   */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    await this.#scanning.stop();
    await this.#shipping;
    for (const orphan of this.#orphans.splice(0)) await releaseOrphan(orphan, this.options.logger);
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
        // Another edge has adopted, shipped and deleted it meanwhile.
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
    if ((await listSegments(path)).length === 0 && (await isNew(path))) return;
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
    // A folder that cannot be listed counts as a spool with 0 bytes.
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
        // `finish` unlocks this spool and the following ones.
        if (signal.aborted) return;
        logger.error({ err: error, spool }, 'an adopted spool cannot be read; tried again later');
        await releaseOrphan(orphan, logger);
        await this.#noteStuck(spool);
      }
      this.#orphans.shift();
    }
    // This is the tick of the last check of the list, so the next adoption starts shipping again.
    this.#shipping = undefined;
  }
}
