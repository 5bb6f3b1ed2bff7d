/** Lets other threads go first: those that somebody waits for. */
import { openSync, readSync } from 'node:fs';
import { platform, setPriority } from 'node:os';
import { nullOnThrow } from '../errors.js';

/** Milliseconds of work between two moments of sleep. */
const everyMs = 0.5;
/**
 * Milliseconds of such a moment. For work that somebody waits for, the shortest that there is: the thread is back
 * before an answer is made, and goes first again. Other work sleeps for as long as an answer takes.
 */
const momentMs = { hurried: 0.05, unhurried: 1 };
/** How often a thread looks whether others want its core, in milliseconds of `performance.now`. */
const lookMs = 20;

/** How long a thread has waited for a core so far, in nanoseconds, while it could have gone on. Linux only. */
class WaitingTime {
  readonly #file = openSync('/proc/thread-self/schedstat', 'r');
  readonly #text = Buffer.alloc(100);

  read(): number {
    const length = readSync(this.#file, this.#text, 0, this.#text.length, 0);
    // The time at work, the time of waiting, and how often it was at work.
    return Number(this.#text.toString('latin1', 0, length).split(' ')[1]);
  }
}

class Moments {
  readonly #never = new Int32Array(new SharedArrayBuffer(4));
  #last = performance.now();
  #lookedAt = 0;
  #waited = 0;
  #isShared = false;
  /** Pieces of work under way that somebody waits for. */
  hurried = 0;

  constructor(private readonly waiting: WaitingTime) {}

  take(): void {
    const now = performance.now();
    if (now - this.#last < everyMs) return;
    if (now - this.#lookedAt >= lookMs) this.#look(now);
    const ms = this.hurried > 0 ? momentMs.hurried : momentMs.unhurried;
    if (this.#isShared) Atomics.wait(this.#never, 0, 0, ms);
    this.#last = performance.now();
  }

  /** Where others want the core, this thread waits for it now and then. */
  #look(now: number): void {
    const before = this.#waited;
    this.#lookedAt = now;
    this.#waited = this.waiting.read();
    this.#isShared = this.#waited > before;
  }
}

/** Of this thread; `null` where it goes first itself. */
let moments: Moments | null = null;

/** Lets other threads of the process go before this one. Only Linux has a priority for each thread. */
export const stepBack = (niceness: number): void => {
  if (platform() !== 'linux') return;
  setPriority(niceness);
  // Some kernels do not tell.
  const waiting = nullOnThrow(() => new WaitingTime(), 'ENOENT', 'EACCES');
  if (waiting) moments = new Moments(waiting);
};

/**
 * In a thread that has stepped back, a moment for those that wait for its core; elsewhere nothing. For loops whose
 * turns take microseconds. Whatever the priorities, Linux lets a thread that is at work go on until the scheduler's
 * next tick, on most machines for up to 4 ms, which is longer than an answer takes; but not one that sleeps.
 */
export const giveWay = (): void => {
  moments?.take();
};

/** Does a piece of work that somebody waits for: meanwhile, a thread that has stepped back leaves its core for less. */
export const hurried = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  if (!moments) return work();
  moments.hurried += 1;
  try {
    return await work();
  } finally {
    moments.hurried -= 1;
  }
};
