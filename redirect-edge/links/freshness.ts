/** How long after its link was read a copy may be served, in milliseconds. */
export const copyLifeMs = 60_000;

/** Longer than any copy lives: a served copy is younger than every change that was dropped here. */
const rememberMs = 2 * copyLifeMs;

/** Changes that are remembered at most: some 20 MB. */
export const maxChanges = 100_000;

/** A link as it was read from PostgreSQL, by whichever edge. */
export interface Copy {
  readonly code: string;
  /** Of the last event that is in it. */
  readonly sequence: number;
  /** PostgreSQL's time before the reading, in milliseconds. */
  readonly readAt: number;
}

/**
 * The changes that an edge has heard of, and what follows for copies of links. A copy that lacks a
 * change was read before it; so an edge that has heard of every change since the copy was read knows
 * of the one that it lacks. Neither writers nor the store of copies need agree on a time. Listening
 * begins with the first gap.
 */
export class Freshness {
  /** In the order in which they were heard of. */
  readonly #changes = new Map<string, { readonly sequence: number; readonly at: number }>();
  #listeningSince: number | null = null;
  /** When changes were dropped, because there were too many. */
  #droppedAt = -Infinity;

  /** @param now milliseconds of a clock that never goes back */
  constructor(private readonly now: () => number = () => performance.now()) {}

  heard(code: string, sequence: number): void {
    const newest = Math.max(sequence, this.#changes.get(code)?.sequence ?? 0);
    this.#changes.delete(code);
    this.#changes.set(code, { sequence: newest, at: this.now() });
    for (const [oldest, { at }] of this.#changes) {
      if (this.now() - at <= rememberMs) break;
      this.#changes.delete(oldest);
    }
    if (this.#changes.size > maxChanges) this.#drop();
  }

  #drop(): void {
    this.#changes.clear();
    this.#droppedAt = this.now();
    if (this.#listeningSince !== null) this.gap(true);
  }

  /** Until now, changes may have been missed; `listening`: from now on none is. */
  gap(listening: boolean): void {
    this.#listeningSince = listening ? this.now() : null;
  }

  /** Whether the link has its last change that was heard of. */
  isCurrent({ code, sequence }: Pick<Copy, 'code' | 'sequence'>): boolean {
    return sequence >= (this.#changes.get(code)?.sequence ?? 0);
  }

  /**
   * To be called before links are read: the function that it returns tells whether one of them has
   * its last change. After a slower reading than changes are remembered, none is known to have it. A reading
   * that began after the notification has the change, whatever sequence the notification names.
   */
  reading(): (link: Pick<Copy, 'code' | 'sequence'>) => boolean {
    const begunAt = this.now();
    return (link) => {
      if (this.now() - begunAt > rememberMs || begunAt <= this.#droppedAt) return false;
      const change = this.#changes.get(link.code);
      return !change || change.at < begunAt || link.sequence >= change.sequence;
    };
  }

  /** Whether every change was heard of for as long as copies live. */
  get settled(): boolean {
    return this.#listeningSince !== null && this.now() - this.#listeningSince >= copyLifeMs;
  }

  /** Whether a copy may be served, `at` being PostgreSQL's time at the latest. */
  accepts(copy: Copy, at: number): boolean {
    const isYoung = copy.readAt <= at && at - copy.readAt <= copyLifeMs;
    // Whether there is a change that was not heard of yet, PostgreSQL knows, and no copy does.
    const sequence = this.#changes.get(copy.code)?.sequence ?? copy.sequence;
    return isYoung && this.settled && copy.sequence === sequence;
  }
}
