import { Overloaded } from './batcher.js';

/** Never rejects. */
type Job = () => Promise<void>;

/**
 * A bounded queue for costly work: `atOnce` at a time, lanes served round-robin, so that a flood in one
 * lane delays another by a single job. After a job its lane rests: so a flood leaves half of the time,
 * or more, to other lanes and to the rest of the machine.
 */
export class FairQueue {
  /** Jobs at the moment, and the jobs refused so far. */
  readonly load = { running: 0, waiting: 0, refused: 0 };
  /** A Map keeps the order of insertion: the next lane comes first. */
  readonly #lanes = new Map<string, Job[]>();
  readonly #resting = new Set<string>();

  /** @param sleep resolves after so many milliseconds */
  constructor(
    private readonly atOnce: number,
    private readonly maxWaiting: number,
    private readonly sleep: (ms: number) => Promise<void>,
  ) {}

  /**
   * Runs all of `works`, or none: those of a lane in their order, one of each waiting lane after the
   * other.
   *
   * @throws Overloaded when the lane or the queue has no room for them; what the first work threw.
   */
  async run<Result>(
    lane: string,
    maxInLane: number,
    works: readonly (() => Promise<Result>)[],
  ): Promise<Result[]> {
    const { load } = this;
    const jobs = this.#lanes.get(lane) ?? [];
    const full =
      jobs.length + works.length > maxInLane || load.waiting + works.length > this.maxWaiting;
    if (full) {
      load.refused += works.length;
      throw new Overloaded(load.waiting);
    }
    const outcomes = works.map(
      (work) =>
        new Promise<Result>((resolve) => {
          jobs.push(() => {
            const done = work();
            resolve(done);
            return done.then(
              () => undefined,
              () => undefined,
            );
          });
        }),
    );
    if (jobs.length > 0) this.#lanes.set(lane, jobs);
    load.waiting += works.length;
    this.#startNext();
    return Promise.all(outcomes);
  }

  #startNext(): void {
    while (this.load.running < this.atOnce) {
      const next = this.#takeNext();
      if (!next) return;
      this.load.running += 1;
      const began = performance.now();
      void next.job().then(() => {
        this.load.running -= 1;
        void this.#rest(next.lane, performance.now() - began);
        this.#startNext();
      });
    }
  }

  #takeNext(): { readonly lane: string; readonly job: Job } | undefined {
    for (const [lane, jobs] of this.#lanes) {
      if (this.#resting.has(lane)) continue;
      const job = jobs.shift();
      this.#lanes.delete(lane);
      if (jobs.length > 0) this.#lanes.set(lane, jobs);
      if (!job) continue;
      this.load.waiting -= 1;
      return { lane, job };
    }
    return undefined;
  }

  async #rest(lane: string, ms: number): Promise<void> {
    this.#resting.add(lane);
    await this.sleep(ms);
    this.#resting.delete(lane);
    this.#startNext();
  }
}
