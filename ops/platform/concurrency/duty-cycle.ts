import { setTimeout as sleep } from 'node:timers/promises';

/** Length of a pause as a multiple of the work before it: in an idle process, and in a busy one. */
const shortest = 1;
const longest = 9;
/** The longest pause in milliseconds, also after work that waited for a server without a response. */
const maxPauseMs = 2_000;

/**
 * Throttles background work with a pause after each piece, so that requests get the core: the work takes half of the
 * time in an idle process, and a tenth in a busy one. It always makes progress.
 */
export class DutyCycle {
  #since = performance.now();
  /** The share of the last pause in which this process was busy. */
  #busy = 1;

  constructor(private readonly signal: AbortSignal) {}

  /** Pauses after a piece of work, which began with the end of the last pause. An aborted signal ends the pause. */
  async pause(): Promise<void> {
    const workedMs = performance.now() - this.#since;
    const before = performance.eventLoopUtilization();
    const ms = Math.min(maxPauseMs, workedMs * (shortest + (longest - shortest) * this.#busy));
    // Only the signal rejects the sleep, and the caller checks the signal.
    await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
    this.#busy = performance.eventLoopUtilization(before).utilization;
    this.#since = performance.now();
  }
}
