/**
 * Visits that followers have read in advance. A read of Kafka takes some 0.1 s regardless of its size, so a replay that
 * read each portion by itself would return 7,000 visits a second.
 */
import type { PartitionEvents } from './stored-events.js';

/** Visits of one read; 4 MB. */
const eventsAhead = 5_000;

/** Followers of a process that may read in advance at the same time, because a slow one keeps its visits in memory. */
const maxFollowers = 4;

/** How long a follower keeps visits without taking any (ms). A slower one reads just its next portion. */
const keepMs = 2_000;

/** The visits that one follower has read, by partition. */
export interface ReadAhead {
  /** The visits from an offset on that are in memory; `null` if they must be read. */
  take(index: number, from: number): PartitionEvents | null;
  /** How many visits to read. @param wanted of the next portion */
  limitFor(wanted: number): number;
  keep(visits: PartitionEvents): void;
  clear(): void;
}

/** Keeps no visits; for single portions. */
export const noReadAhead: ReadAhead = {
  take: () => null,
  limitFor: (wanted) => wanted,
  keep: () => undefined,
  clear: () => undefined,
};

/** @param idleMs see `keepMs` */
export const createReadAheads = (idleMs = keepMs) => {
  const holders = new Set<ReadAhead>();

  return {
    /** `clear` must be called. */
    open(): ReadAhead {
      const known = new Map<number, PartitionEvents>();
      let isSlow = false;
      let timer: NodeJS.Timeout | undefined;
      const restartTimer = (): void => {
        isSlow = false;
        clearTimeout(timer);
        timer = setTimeout(() => {
          ahead.clear();
          isSlow = true;
        }, idleMs).unref();
      };
      const ahead: ReadAhead = {
        take(index, from) {
          const visits = known.get(index);
          const first = visits?.events.findIndex(({ offset }) => offset >= from) ?? -1;
          if (visits && first >= 0) {
            const rest = { ...visits, events: visits.events.slice(first) };
            known.set(index, rest);
            restartTimer();
            return rest;
          }
          known.delete(index);
          if (known.size === 0) holders.delete(ahead);
          return null;
        },
        limitFor: (wanted) =>
          !isSlow && (holders.has(ahead) || holders.size < maxFollowers)
            ? Math.max(wanted, eventsAhead)
            : wanted,
        keep(visits) {
          if (visits.events.length === 0) return;
          known.set(visits.index, visits);
          holders.add(ahead);
          restartTimer();
        },
        clear() {
          clearTimeout(timer);
          known.clear();
          holders.delete(ahead);
        },
      };
      return ahead;
    },
  };
};
