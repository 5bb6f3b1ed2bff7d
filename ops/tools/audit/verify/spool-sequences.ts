import type { MissingEvents } from './report.js';
import { topics } from '../../../../schemas/events/topics.js';

/** The visits of one spool, so far. */
interface Spool {
  /** Its highest sequence, in any partition. */
  highest: number;
  /** Visits without repeats. */
  visits: number;
  /** The highest sequence of each partition. */
  readonly marks: Map<number, number>;
}

/**
 * Counts the visits of each spool, so that memory depends on the number of spools, not of visits. A spool numbers its
 * visits from 1 over all partitions, and ships them in order: in each partition, first occurrences ascend. Therefore a
 * visit that is not above the highest one of its partition is a repeat, and a spool has as many visits as its highest
 * sequence unless some are missing.
 */
export class SpoolSequences {
  readonly #spools = new Map<string, Spool>();
  #isClosed = false;

  add(partition: number, source: string, sequence: number): void {
    let spool = this.#spools.get(source);
    if (!spool) {
      if (this.#isClosed) return;
      this.#spools.set(source, (spool = { highest: 0, visits: 0, marks: new Map() }));
    }
    if (sequence <= (spool.marks.get(partition) ?? 0)) return;
    if (this.#isClosed && sequence > spool.highest) return;
    spool.marks.set(partition, sequence);
    spool.visits += 1;
    spool.highest = Math.max(spool.highest, sequence);
  }

  /** From now on, only visits below the highest sequence of their spool count. */
  close(): void {
    this.#isClosed = true;
  }

  /** The spools with fewer visits than their highest sequence. */
  missing(): readonly MissingEvents[] {
    return Array.from(this.#spools, ([origin, { highest, visits }]) => {
      return { topic: topics.visits.name, origin, first: null, count: highest - visits };
    }).filter(({ count }) => count > 0);
  }
}
