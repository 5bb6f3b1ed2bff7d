import { Overloaded } from './batcher.js';

/** Never rejects; resolves to the least milliseconds that its lane has to rest. */
type Job = () => Promise<number>;

/** Jobs at the moment, and the jobs refused so far. */
export interface QueueLoad {
  readonly running: number;
  readonly waiting: number;
  readonly refused: number;
}

export interface FairQueue {
  readonly load: QueueLoad;
  /**
   * Runs all of `works`, or none: those of a lane in their order, one of each waiting lane after the
   * other. After each, its lane rests for as long as the work took, or for the milliseconds that
   * `restMs` gives for its result, if those are more.
   *
   * @throws Overloaded when the lane or the queue has no room for them; what the first work threw.
   */
  run<Result>(
    lane: string,
    maxInLane: number,
    works: readonly (() => Promise<Result>)[],
    restMs?: (result: Result) => number,
  ): Promise<Result[]>;
}

/**
 * A bounded queue for costly work: `atOnce` at a time, lanes served round-robin, so that a flood in one
 * lane delays another by a single job. After a job its lane rests (`rest` takes milliseconds): so a
 * flood leaves half of the time, or more, to other lanes and to the rest of the machine.
 */
export const createFairQueue = (options: {
  readonly atOnce: number;
  readonly maxWaiting: number;
  readonly rest: (ms: number) => Promise<void>;
}): FairQueue => {
  // A Map keeps the order of insertion: the next lane comes first.
  const lanes = new Map<string, Job[]>();
  const resting = new Set<string>();
  const load = { running: 0, waiting: 0, refused: 0 };

  const takeNext = (): { readonly lane: string; readonly job: Job } | undefined => {
    for (const [lane, jobs] of lanes) {
      if (resting.has(lane)) continue;
      const job = jobs.shift();
      lanes.delete(lane);
      if (jobs.length > 0) lanes.set(lane, jobs);
      if (!job) continue;
      load.waiting -= 1;
      return { lane, job };
    }
    return undefined;
  };

  const rest = async (lane: string, ms: number): Promise<void> => {
    resting.add(lane);
    await options.rest(ms);
    resting.delete(lane);
    startNext();
  };

  const startNext = (): void => {
    while (load.running < options.atOnce) {
      const next = takeNext();
      if (!next) return;
      load.running += 1;
      const began = performance.now();
      void next.job().then((leastMs) => {
        load.running -= 1;
        void rest(next.lane, Math.max(leastMs, performance.now() - began));
        startNext();
      });
    }
  };

  const enqueue = <Result>(
    jobs: Job[],
    work: () => Promise<Result>,
    restMs: (result: Result) => number,
  ): Promise<Result> =>
    new Promise((resolve) => {
      jobs.push(() => {
        const done = work();
        // The caller of `run` gets the outcome, errors included.
        resolve(done);
        return done.then(restMs, () => 0);
      });
    });

  return {
    load,
    async run(lane, maxInLane, works, restMs = () => 0) {
      const jobs = lanes.get(lane) ?? [];
      const full =
        jobs.length + works.length > maxInLane || load.waiting + works.length > options.maxWaiting;
      if (full) {
        load.refused += works.length;
        throw new Overloaded(load.waiting);
      }
      const outcomes = works.map((work) => enqueue(jobs, work, restMs));
      if (jobs.length > 0) lanes.set(lane, jobs);
      load.waiting += works.length;
      startNext();
      return Promise.all(outcomes);
    },
  };
};
