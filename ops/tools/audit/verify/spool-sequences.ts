import type { MissingEvents } from './report.js';
import { topics } from '../../../../schemas/events/topics.js';

interface Spool {
  /** The highest sequence of all partitions. */
  highest: number;
  /** The number of visits without repeats. */
  visits: number;
  /** The highest sequence by partition. */
  readonly marks: Map<number, number>;
}

/**
 * Counts the visits of each source, so that memory depends on the number of sources. Visits are numbered from 1, by an edge
 * in each partition, by imports and releases before 0.3.0 over all partitions. They are shipped in order, so first
 * occurrences ascend in each partition. Therefore a visit at or below the highest sequence of its partition is a repeat, and
 * a complete source has as many visits as its highest sequence.
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

  /** Notes that a source has visits up to a sequence, whether the log has them or not. */
  expect(source: string, highest: number): void {
    const spool = this.#spools.get(source) ?? { highest: 0, visits: 0, marks: new Map() };
    spool.highest = Math.max(spool.highest, highest);
    this.#spools.set(source, spool);
  }

  /** From now on, only visits up to the highest sequence of their spool count. */
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
