/** Milliseconds from a network's first wrong guess. */
const windowMs = 60_000;
/** In a window. */
const maxWrong = 10;
/** Bounds the memory; beyond it, the window that ends first is forgotten. */
const maxNetworks = 10_000;

interface Window {
  readonly endsAt: number;
  wrong: number;
}

/** Counts each network's wrong guesses at a secret: after ten, it waits for the end of the minute. */
export class GuessThrottle {
  /** In the order of their ends, because all are as long. */
  readonly #windows = new Map<string, Window>();

  /** Milliseconds until the network may guess; 0: now. */
  waitMs(network: string, now: number): number {
    const window = this.#windows.get(network);
    return window && window.wrong >= maxWrong ? Math.max(0, window.endsAt - now) : 0;
  }

  countWrong(network: string, now: number): void {
    const window = this.#windows.get(network);
    if (window && now < window.endsAt) {
      window.wrong += 1;
      return;
    }
    this.#windows.delete(network);
    const [first] = this.#windows.keys();
    if (first !== undefined && this.#windows.size >= maxNetworks) this.#windows.delete(first);
    this.#windows.set(network, { endsAt: now + windowMs, wrong: 1 });
  }
}
