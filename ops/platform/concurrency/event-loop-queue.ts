/**
 * Runs one callback in each iteration of the event loop, in the order of their addition. For work that many clients may
 * cause at the same moment: other clients wait for one callback, not for all.
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
