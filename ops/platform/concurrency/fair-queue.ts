import { Overloaded } from './batcher.js';

/** Never rejects. */
type Job = () => Promise<void>;

/**
 * A bounded queue for expensive jobs: at most `concurrency` run at a time. The lanes are served
 * round-robin, so that a flood in one lane delays another lane by a single job.
 */
export class FairQueue {
  /** Current numbers of jobs, and the number of jobs that were refused since the start. */
  readonly load = { running: 0, waiting: 0, refused: 0 };
  /** A Map keeps the order of insertion: the first lane is the next one. */
  readonly #lanes = new Map<string, Job[]>();

  constructor(
    private readonly concurrency: number,
    private readonly maxWaiting: number,
  ) {}

  /** @throws Overloaded if the lane or the queue has no capacity for these jobs. */
  ensureCapacity(lane: string, maxInLane: number, jobs: number): void {
    const { load } = this;
    const waitingInLane = this.#lanes.get(lane)?.length ?? 0;
    if (waitingInLane + jobs > maxInLane || load.waiting + jobs > this.maxWaiting) {
      load.refused += jobs;
      throw new Overloaded(load.waiting);
    }
  }

  /**
   * Runs all of `works`, in their order, or none.
   *
   * @throws Overloaded if the lane or the queue has no capacity for them; the first error of a work.
   */
  async run<Result>(
    lane: string,
    maxInLane: number,
    works: readonly (() => Promise<Result>)[],
  ): Promise<Result[]> {
    this.ensureCapacity(lane, maxInLane, works.length);
    const jobs = this.#lanes.get(lane) ?? [];
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
    this.load.waiting += works.length;
    this.#startNext();
    return Promise.all(outcomes);
  }

  #startNext(): void {
    while (this.load.running < this.concurrency) {
      const job = this.#takeNext();
      if (!job) return;
      this.load.running += 1;
      void job().then(() => {
        this.load.running -= 1;
        this.#startNext();
      });
    }
  }

  #takeNext(): Job | undefined {
    const [next] = this.#lanes;
    if (!next) return undefined;
    const [lane, jobs] = next;
    const job = jobs.shift();
    this.#lanes.delete(lane);
    if (jobs.length > 0) this.#lanes.set(lane, jobs);
    this.load.waiting -= 1;
    return job;
  }
}
