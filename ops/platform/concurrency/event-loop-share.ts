import { setImmediate as nextIteration } from 'node:timers/promises';

/** The longest work without an iteration of the event loop (ms). */
const maxWorkMs = 4;

/** Bounds how long other requests wait for a long work. */
export class EventLoopShare {
  #since = performance.now();

  /** Checked between the parts of the work: whether others are to run before the next one. */
  get isUsedUp(): boolean {
    return performance.now() - this.#since >= maxWorkMs;
  }

  async renew(): Promise<void> {
    await nextIteration();
    this.#since = performance.now();
  }
}
