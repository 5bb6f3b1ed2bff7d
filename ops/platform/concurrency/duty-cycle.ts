import { setTimeout as sleep } from 'node:timers/promises';

/** Pause per unit of work in an idle process, by default, and in a busy one. */
const defaultIdleFactor = 1;
const busyFactor = 9;
/** Bounds the pause (ms) after work that waited for an unresponsive server. */
const maxPauseMs = 2_000;

/**
 * Throttles background work to a tenth of the time in a busy process, so that requests get the core, and by default to
 * half of the time in an idle one.
 */
export class DutyCycle {
  #since = performance.now();
  /** The utilization of the event loop during the last pause. */
  #busy = 1;

  constructor(
    private readonly signal: AbortSignal,
    private readonly idleFactor = defaultIdleFactor,
  ) {}

  /** Pauses after a piece of work, which started at the end of the last pause. The signal ends the pause. */
  async pause(): Promise<void> {
    const workedMs = performance.now() - this.#since;
    const before = performance.eventLoopUtilization();
    const ms = Math.min(
      maxPauseMs,
      workedMs * (this.idleFactor + (busyFactor - this.idleFactor) * this.#busy),
    );
    // Only the signal, which the caller checks, rejects the sleep.
    await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
    this.#busy = performance.eventLoopUtilization(before).utilization;
    this.#since = performance.now();
  }
}
