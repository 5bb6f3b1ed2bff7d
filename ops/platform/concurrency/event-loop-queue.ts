/**
 * Runs one callback in each iteration of the event loop, in order. For work that many clients may cause concurrently, so
 * that other clients wait for one callback rather than all.
 */
export class EventLoopQueue {
  readonly #waiting: (() => void)[] = [];

  add(callback: () => void): void {
    if (this.#waiting.push(callback) === 1) setImmediate(this.#run);
  }

  readonly #run = (): void => {
    const [callback] = this.#waiting.splice(0, 1);
    if (this.#waiting.length > 0) setImmediate(this.#run);
    callback?.();
  };
}
