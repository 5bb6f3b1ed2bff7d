/** How long a copy may be served after its link was read (ms). */
export const copyLifeMs = 60_000;

/**
 * How long changes are kept (ms). Longer than any copy lives, so a served copy is younger than every dropped change.
 */
const changeLifeMs = 2 * copyLifeMs;

/** The greatest number of changes that are kept: about 20 MB. */
export const maxChanges = 100_000;

/** A link as any edge read it from PostgreSQL. */
export interface Copy {
  readonly subject: string;
  /** The sequence of the last event in it. */
  readonly sequence: number;
  /** PostgreSQL's time before the reading, in milliseconds. */
  readonly readAt: number;
}

/**
 * Decides which copies of links are current, by the notifications of changes that this edge received. A copy that lacks
 * a change was read before that change. So an edge that received every notification since the copy was read has
 * received that of the missing change. Writers and the store need no common clock. Listening begins with the first
 * `gap`.
 */
export class Freshness {
  /** The order is that of their notifications. */
  readonly #changes = new Map<string, { readonly sequence: number; readonly at: number }>();
  #listeningSince: number | null = null;
  /** When all changes were dropped because there were too many. */
  #droppedAt = -Infinity;

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Records the notification of a change. */
  changed(subject: string, sequence: number): void {
    const newest = Math.max(sequence, this.#changes.get(subject)?.sequence ?? 0);
    this.#changes.delete(subject);
    this.#changes.set(subject, { sequence: newest, at: this.now() });
    for (const [oldest, { at }] of this.#changes) {
      if (this.now() - at <= changeLifeMs) break;
      this.#changes.delete(oldest);
    }
    if (this.#changes.size > maxChanges) this.#drop();
  }

  #drop(): void {
    this.#changes.clear();
    this.#droppedAt = this.now();
    if (this.#listeningSince !== null) this.gap(true);
  }

  /** Notifications may have been lost until now. `listening`: from now on, none are. */
  gap(listening: boolean): void {
    this.#listeningSince = listening ? this.now() : null;
  }

  /** Whether the link has the last change that was notified. */
  isCurrent({ subject, sequence }: Pick<Copy, 'subject' | 'sequence'>): boolean {
    return sequence >= (this.#changes.get(subject)?.sequence ?? 0);
  }

  /**
   * Call it before links are read. The returned function says whether a link has its last change. If reading takes
   * longer than changes are kept, no link is known to have it. A read that began after the notification has the
   * change, whatever its sequence.
   */
  reading(): (link: Pick<Copy, 'subject' | 'sequence'>) => boolean {
    const begunAt = this.now();
    return (link) => {
      if (this.now() - begunAt > changeLifeMs || begunAt <= this.#droppedAt) return false;
      const change = this.#changes.get(link.subject);
      return !change || change.at < begunAt || link.sequence >= change.sequence;
    };
  }

  /** Whether every notification was received for as long as copies live. */
  get isComplete(): boolean {
    return this.#listeningSince !== null && this.now() - this.#listeningSince >= copyLifeMs;
  }

  /** Whether a copy may be served. `latest` is the upper bound of PostgreSQL's time. */
  accepts(copy: Copy, latest: number): boolean {
    const isYoung = copy.readAt <= latest && latest - copy.readAt <= copyLifeMs;
    // If the notification is still on its way, only PostgreSQL has the change.
    const sequence = this.#changes.get(copy.subject)?.sequence ?? copy.sequence;
    return isYoung && this.isComplete && copy.sequence === sequence;
  }
}
