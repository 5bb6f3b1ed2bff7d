import { deferred, type Deferred } from './deferred.js';

/** Lets a loop sleep until there is work. After a `wake` of a running loop, the next sleep ends immediately. */
export class WakeUp {
  #pending = false;
  #sleeping: Deferred<void> | null = null;

  wake(): void {
    this.#pending = true;
    this.#sleeping?.resolve();
  }

  /** Resolves at the next `wake`, or `atMostMs` later. */
  async sleep(atMostMs = Infinity): Promise<void> {
    if (!this.#pending) {
      const sleeping = deferred();
      this.#sleeping = sleeping;
      const timer = Number.isFinite(atMostMs) ? setTimeout(sleeping.resolve, atMostMs) : undefined;
      await sleeping.promise;
      clearTimeout(timer);
      this.#sleeping = null;
    }
    this.#pending = false;
  }
}
