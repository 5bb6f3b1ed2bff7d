/** How long after its link was read a copy may be served. */
export const copyLifeMs = 60_000;

/** Longer than any copy that is served: none is older than a change that was forgotten again. */
const rememberMs = 2 * copyLifeMs;

/** A link as it was read from PostgreSQL, by whichever edge. */
export interface Copy {
  readonly code: string;
  /** Of the last event that is in it. */
  readonly sequence: number;
  /** PostgreSQL's time before the reading, in milliseconds. */
  readonly readAt: number;
}

/**
 * What an edge has heard of changes, and what follows for copies of links. A copy that lacks a change
 * was read before it; so whoever has heard of every change since the copy was read knows of the one
 * that it lacks. Neither writers nor the place where copies lie need be trusted, or agree on a time.
 */
export interface Freshness {
  heard(code: string, sequence: number): void;
  /** Until now, changes may have been missed; `listening`: from now on none is. */
  gap(listening: boolean): void;
  /** Whether it has the last change of the link that was heard of. */
  isCurrent(link: Pick<Copy, 'code' | 'sequence'>): boolean;
  /** Whether every change was heard of for as long as copies live. */
  readonly settled: boolean;
  /** Whether a copy may be served, `now` being PostgreSQL's time at the latest. */
  accepts(copy: Copy, now: number): boolean;
}

/** `now` is in milliseconds, of a clock that never goes back. Listening begins with the first gap. */
export const createFreshness = (now: () => number = () => performance.now()): Freshness => {
  // In the order in which they were heard of.
  const changes = new Map<string, { readonly sequence: number; readonly at: number }>();
  let listeningSince: number | null = null;

  const isCurrent = ({ code, sequence }: Pick<Copy, 'code' | 'sequence'>): boolean =>
    sequence >= (changes.get(code)?.sequence ?? 0);
  const isSettled = (): boolean => listeningSince !== null && now() - listeningSince >= copyLifeMs;

  return {
    heard(code, sequence) {
      const newest = Math.max(sequence, changes.get(code)?.sequence ?? 0);
      changes.delete(code);
      changes.set(code, { sequence: newest, at: now() });
      for (const [oldest, { at }] of changes) {
        if (now() - at <= rememberMs) break;
        changes.delete(oldest);
      }
    },
    gap(listening) {
      listeningSince = listening ? now() : null;
    },
    isCurrent,
    get settled() {
      return isSettled();
    },
    accepts: (copy, at) =>
      isSettled() && copy.readAt <= at && at - copy.readAt <= copyLifeMs && isCurrent(copy),
  };
};
