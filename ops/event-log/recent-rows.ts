import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { areWhole, endOf, readRows, type LogRow, type OffsetRange } from './postgres-batches.js';

/** Characters of a partition's rows in memory. Readers are rarely more than a second apart. */
const maxLength = 500_000;

/** Joins rows with those before them. The compactor may have merged the last of these with the first new ones. */
const joined = (before: readonly LogRow[], rows: readonly LogRow[]): readonly LogRow[] => {
  const first = rows[0]?.firstOffset ?? Infinity;
  return [...before.filter(({ firstOffset }) => firstOffset < first), ...rows];
};

const endAfter = (rows: readonly LogRow[]): number => {
  const last = rows.at(-1);
  return last ? endOf(last) : 0;
};

/** The newest rows of the log, which the subscriptions of a process share: the first one to need a row reads it. */
export class RecentRows {
  /** By partition id, contiguous. */
  #tails = new Map<number, readonly LogRow[]>();
  readonly close: () => void;

  constructor(
    private readonly pool: Queryable,
    listener: NotificationListener,
  ) {
    // The PostgreSQL of a new connection may have replaced another one, and lack its newest rows.
    this.close = listener.onGap(() => {
      this.#tails = new Map();
    });
  }

  /** Returns the rows of ranges by partition id, like `readRows`. */
  async read(ranges: readonly OffsetRange[]): Promise<ReadonlyMap<number, readonly LogRow[]>> {
    const tails = this.#tails;
    const known = new Map<number, readonly LogRow[]>();
    const missing = ranges.map(({ partitionId, from, to }): OffsetRange => {
      const tail = tails.get(partitionId) ?? [];
      const start = tail.findLastIndex(({ firstOffset }) => firstOffset <= from);
      const end = endAfter(tail);
      if (start < 0 || end <= from) return { partitionId, from, to };
      known.set(
        partitionId,
        tail.slice(start).filter(({ firstOffset }) => firstOffset < to),
      );
      return { partitionId, from: end, to };
    });
    const due = missing.filter(({ from, to }) => from < to);
    if (due.length === 0) return known;
    for (const [partitionId, rows] of await readRows(this.pool, due)) {
      known.set(partitionId, joined(known.get(partitionId) ?? [], rows));
      const tail = tails.get(partitionId) ?? [];
      // Rows of a reader far behind are read by no other.
      if (endAfter(rows) <= endAfter(tail) || !areWhole(rows)) continue;
      const isNext = tail.some((row) => endOf(row) === rows[0]?.firstOffset);
      const longer = isNext ? joined(tail, rows) : rows;
      let length = 0;
      const cut = longer.findLastIndex(({ value }) => (length += value.length) > maxLength);
      tails.set(partitionId, longer.slice(cut + 1));
    }
    return known;
  }
}
