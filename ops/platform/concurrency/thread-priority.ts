/** Lets background threads give the core to threads that requests wait for. */
import { openSync, readSync } from 'node:fs';
import { platform, setPriority } from 'node:os';
import { nullOnThrow } from '../errors.js';

/** Milliseconds of work between two sleeps. */
const workMs = 0.5;
/**
 * Milliseconds of a sleep. At normal priority, it is the shortest possible sleep, after which the thread runs again. In
 * background work, it is as long as a response takes.
 */
const sleepMs = { normal: 0.05, background: 1 };
/** How often a thread checks whether other threads compete for its core (ms). */
const checkMs = 20;

/** How long a thread has been runnable without a core so far, in nanoseconds. Linux only. */
class RunQueueWait {
  readonly #file = openSync('/proc/thread-self/schedstat', 'r');
  readonly #text = Buffer.alloc(100);

  read(): number {
    const length = readSync(this.#file, this.#text, 0, this.#text.length, 0);
    // The fields are the time on a core, the time in the run queue, and the number of time slices.
    return Number(this.#text.toString('latin1', 0, length).split(' ')[1]);
  }
}

class CpuYield {
  readonly #never = new Int32Array(new SharedArrayBuffer(4));
  #lastSleepAt = performance.now();
  #checkedAt = 0;
  #waited = 0;
  #isContended = false;
  /** The calls of `atNormalPriority` that have not ended. */
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

  /** A thread that has waited in the run queue since the last check shares its core. */
  #check(now: number): void {
    const before = this.#waited;
    this.#checkedAt = now;
    this.#waited = this.wait.read();
    this.#isContended = this.#waited > before;
  }
}

/** Of this thread; `null` at the default priority. */
let cpuYield: CpuYield | null = null;

/** Lowers the priority of this thread. Only Linux has a priority for each thread. */
export const lowerThreadPriority = (niceness: number): void => {
  if (platform() !== 'linux') return;
  setPriority(niceness);
  // Kernels without CONFIG_SCHED_INFO do not have this file.
  const wait = nullOnThrow(() => new RunQueueWait(), 'ENOENT', 'EACCES');
  if (wait) cpuYield = new CpuYield(wait);
};

/**
 * Sleeps for a moment in a thread of low priority, if other threads compete for its core; otherwise does nothing. For
 * loops whose iterations take microseconds. Whatever the priorities, Linux lets a running thread continue until the next
 * scheduler tick, on most machines for up to 4 ms, which is longer than a response takes.
 */
export const yieldCpu = (): void => {
  cpuYield?.yieldCpu();
};

/** Does work that a caller waits for: meanwhile, `yieldCpu` sleeps as short as possible. */
export const atNormalPriority = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  if (!cpuYield) return work();
  cpuYield.callsAtNormalPriority += 1;
  try {
    return await work();
  } finally {
    cpuYield.callsAtNormalPriority -= 1;
  }
};
