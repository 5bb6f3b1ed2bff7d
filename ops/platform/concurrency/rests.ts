import { setTimeout as sleep } from 'node:timers/promises';

/** How long a rest takes, as a multiple of the work before: where the process does nothing else, and where it is busy. */
const shortest = 1;
const longest = 9;
/** Milliseconds: nothing rests longer, also where its work waited for something that hung. */
const atMostMs = 2_000;

/**
 * Rests between pieces of work that nobody waits for, so that what somebody does wait for gets the core: the work
 * takes half of the time while this process has nothing else to do, and a tenth while it is busy. It always goes on.
 */
export class Rests {
  #since = performance.now();
  /** The share of the last rest in which this process was busy. */
  #busy = 1;

  constructor(private readonly signal: AbortSignal) {}

  /** Rests after a piece of work, which began with the end of the last rest. An aborted signal ends the rest at once. */
  async take(): Promise<void> {
    const workedMs = performance.now() - this.#since;
    const before = performance.eventLoopUtilization();
    const ms = Math.min(atMostMs, workedMs * (shortest + (longest - shortest) * this.#busy));
    // The signal cuts the sleep short, and that is its only failure: the caller looks at the signal.
    await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
    this.#busy = performance.eventLoopUtilization(before).utilization;
    this.#since = performance.now();
  }
}
