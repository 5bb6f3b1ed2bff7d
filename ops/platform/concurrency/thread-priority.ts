/** Lets background threads yield the core to threads that serve requests. */
import { openSync, readSync } from 'node:fs';
import { platform, setPriority } from 'node:os';
import { nullOnThrow } from '../errors.js';

/** Milliseconds of work between two sleeps. */
const workMs = 0.5;
/** Duration of a sleep (ms): the shortest possible one at normal priority, that of a response in background work. */
const sleepMs = { normal: 0.05, background: 1 };
/** Interval of the checks for other threads that compete for the core (ms). */
const checkMs = 20;

/** The total time that this thread was runnable without a core (ns). Linux only. */
class RunQueueWait {
  readonly #file = openSync('/proc/thread-self/schedstat', 'r');
  readonly #text = Buffer.alloc(100);

  read(): number {
    const length = readSync(this.#file, this.#text, 0, this.#text.length, 0);
    // Fields: time on a core, time in the run queue, number of time slices.
    return Number(this.#text.toString('latin1', 0, length).split(' ')[1]);
  }
}

class CpuYield {
  readonly #never = new Int32Array(new SharedArrayBuffer(4));
  #lastSleepAt = performance.now();
  #checkedAt = 0;
  #waited = 0;
  #isContended = false;
  /** Pending calls of `atNormalPriority`. */
  callsAtNormalPriority = 0;

  constructor(private readonly wait: RunQueueWait) {}

  yieldCpu(): void {
    const now = performance.now();
    if (now - this.#lastSleepAt < workMs) return;
    if (now - this.#checkedAt >= checkMs) this.#check(now);
    const ms = this.callsAtNormalPriority > 0 ? sleepMs.normal : sleepMs.background;
    if (this.#isContended) Atomics.wait(this.#never, 0, 0, ms);
    this.#lastSleepAt = performance.now();
  }

  /** The core is contended if this thread has waited in the run queue since the last check. */
  #check(now: number): void {
    const before = this.#waited;
    this.#checkedAt = now;
    this.#waited = this.wait.read();
    this.#isContended = this.#waited > before;
  }
}

/** `null` at the default priority. */
let cpuYield: CpuYield | null = null;

/** Lowers the priority of this thread. Other systems than Linux have no thread priorities. */
export const lowerThreadPriority = (niceness: number): void => {
  if (platform() !== 'linux') return;
  setPriority(niceness);
  // Kernels without CONFIG_SCHED_INFO do not have this file.
  const wait = nullOnThrow(() => new RunQueueWait(), 'ENOENT', 'EACCES');
  if (wait) cpuYield = new CpuYield(wait);
};

/**
 * Sleeps briefly in a low-priority thread if other threads compete for its core. Call it in loops with iterations of
 * microseconds: Linux preempts a thread only at a scheduler tick, every 4 ms on most machines, and a response is faster.
 */
export const yieldCpu = (): void => {
  cpuYield?.yieldCpu();
};

/** Runs work that a caller waits for, with the shortest sleeps of `yieldCpu`. */
export const atNormalPriority = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  if (!cpuYield) return work();
  cpuYield.callsAtNormalPriority += 1;
  try {
    return await work();
  } finally {
    cpuYield.callsAtNormalPriority -= 1;
  }
};
