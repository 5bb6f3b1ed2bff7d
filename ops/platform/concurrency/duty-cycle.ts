import { setTimeout as sleep } from 'node:timers/promises';

/** Pause per unit of work. */
export interface PauseFactors {
  /** In an idle process. */
  readonly idle: number;
  /** In a busy process. */
  readonly busy: number;
}

const defaultFactors: PauseFactors = { idle: 1, busy: 9 };
/** Bounds the pause (ms) after work that waited for an unresponsive server. */
const maxPauseMs = 2_000;

/**
 * Throttles background work, so that requests get the core: by default to half of the time in an idle process and a tenth
 * in a busy one.
 */
export class DutyCycle {
  #since = performance.now();
  /** The utilization of the event loop during the last pause. */
  #busy = 1;

  constructor(
    private readonly signal: AbortSignal,
    private readonly factors = defaultFactors,
  ) {}

  /** Pauses after a piece of work, which started at the end of the last pause. The signal ends the pause. */
  async pause(): Promise<void> {
    const workedMs = performance.now() - this.#since;
    const before = performance.eventLoopUtilization();
    const { idle, busy } = this.factors;
    const ms = Math.min(maxPauseMs, workedMs * (idle + (busy - idle) * this.#busy));
    // Only the signal, which the caller checks, rejects the sleep.
    await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
    this.#busy = performance.eventLoopUtilization(before).utilization;
    this.#since = performance.now();
  }
}
