/** The waits that this node knows of; each has a name. */
export interface KnownWaits {
  /** Milliseconds that are left for certain; 0 where none are known. */
  left(name: string): number;
  note(name: string, waitMs: number): void;
}

const maxWaits = 10_000;

/**
 * A wait is never cut short, so nobody need ask the ledger again before it ends. With too many of
 * them all are forgotten: then the ledger tells once more.
 */
export const createKnownWaits = (now: () => number = () => performance.now()): KnownWaits => {
  const ends = new Map<string, number>();
  return {
    left(name) {
      const end = ends.get(name);
      if (end === undefined) return 0;
      const left = end - now();
      if (left <= 0) ends.delete(name);
      return Math.max(left, 0);
    },
    note(name, waitMs) {
      if (ends.size >= maxWaits) ends.clear();
      ends.set(name, now() + waitMs);
    },
  };
};
