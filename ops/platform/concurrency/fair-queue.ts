import { Overloaded } from './batcher.js';

/** Never rejects. */
type Job = () => Promise<void>;

/**
 * A bounded queue for expensive jobs: at most `concurrency` run at a time. Sources are served round-robin, so that a
 * flood from one source delays another source by a single job.
 */
export class FairQueue {
  /** Current numbers of jobs, and the number of jobs that were refused since the start. */
  readonly load = { running: 0, waiting: 0, refused: 0 };
  /** Waiting jobs by source. The first source of the map is the next one. */
  readonly #sources = new Map<string, Job[]>();

  constructor(
    private readonly concurrency: number,
    private readonly maxWaiting: number,
  ) {}

  /** @throws Overloaded if the source or the queue has no capacity for these jobs. */
  ensureCapacity(source: string, maxOfSource: number, jobs: number): void {
    const { load } = this;
    const waiting = this.#sources.get(source)?.length ?? 0;
    if (waiting + jobs > maxOfSource || load.waiting + jobs > this.maxWaiting) {
      load.refused += jobs;
      throw new Overloaded(load.waiting);
    }
  }

  /**
   * Runs all of `works`, in their order, or none.
   *
   * @throws Overloaded if the source or the queue has no capacity for them; the first error of a work.
   */
  async run<Result>(
    source: string,
    maxOfSource: number,
    works: readonly (() => Promise<Result>)[],
  ): Promise<Result[]> {
    this.ensureCapacity(source, maxOfSource, works.length);
    const jobs = this.#sources.get(source) ?? [];
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
    if (jobs.length > 0) this.#sources.set(source, jobs);
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
    const [next] = this.#sources;
    if (!next) return undefined;
    const [source, jobs] = next;
    const job = jobs.shift();
    this.#sources.delete(source);
    if (jobs.length > 0) this.#sources.set(source, jobs);
    this.load.waiting -= 1;
    return job;
  }
}
