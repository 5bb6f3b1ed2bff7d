import { Overloaded } from './batcher.js';

/** Never rejects. */
type Job = () => Promise<void>;

/**
 * A bounded queue of expensive jobs, of which at most `concurrency` run at a time. Groups are served round-robin, so many
 * jobs of one group delay another group by a single job.
 */
export class FairQueue {
  /** `refused` counts since the start. */
  readonly load = { running: 0, waiting: 0, refused: 0 };
  /** In the order of insertion: the first group is served next. */
  readonly #groups = new Map<string, Job[]>();

  constructor(
    private readonly concurrency: number,
    private readonly maxWaiting: number,
  ) {}

  /** @throws Overloaded if the group or the queue has no capacity for these jobs. */
  ensureCapacity(group: string, maxInGroup: number, jobs: number): void {
    const { load } = this;
    const waitingInGroup = this.#groups.get(group)?.length ?? 0;
    if (waitingInGroup + jobs > maxInGroup || load.waiting + jobs > this.maxWaiting) {
      load.refused += jobs;
      throw new Overloaded(load.waiting);
    }
  }

  /**
   * Runs all of `works` in their order, or none.
   *
   * @throws Overloaded as `ensureCapacity`; the first error of a work
   */
  async run<Result>(
    group: string,
    maxInGroup: number,
    works: readonly (() => Promise<Result>)[],
  ): Promise<Result[]> {
    this.ensureCapacity(group, maxInGroup, works.length);
    const jobs = this.#groups.get(group) ?? [];
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
    if (jobs.length > 0) this.#groups.set(group, jobs);
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
    const [next] = this.#groups;
    if (!next) return undefined;
    const [group, jobs] = next;
    const job = jobs.shift();
    this.#groups.delete(group);
    if (jobs.length > 0) this.#groups.set(group, jobs);
    this.load.waiting -= 1;
    return job;
  }
}
