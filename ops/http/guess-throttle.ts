import type { IncomingMessage } from 'node:http';
import { clientAddress, networkOf, type ProxyTrust } from './client-address.js';

/** The length of a window, from a network's first wrong guess (ms). */
const windowMs = 60_000;
/** Wrong guesses in a window. */
const maxWrong = 10;
/** Bounds the memory; beyond it, the oldest window is dropped. */
const maxNetworks = 10_000;

interface Window {
  readonly endsAt: number;
  wrong: number;
}

/** Counts wrong guesses at a secret: after ten, the network is throttled until the end of its window. */
export class GuessThrottle {
  /** Oldest first. */
  readonly #windows = new Map<string, Window>();

  /** Time until the network may guess again (ms); 0 if it may now. */
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

/** Returns a function that counts a wrong guess of a client, and returns the seconds until it may guess again; 0: now. */
export const throttleGuesses = (
  isTrusted: ProxyTrust,
): ((request: Pick<IncomingMessage, 'headers' | 'socket'>) => number) => {
  const throttle = new GuessThrottle();
  return (request) => {
    const network = networkOf(clientAddress(request, isTrusted));
    const now = performance.now();
    const waitMs = throttle.waitMs(network, now);
    if (waitMs === 0) throttle.countWrong(network, now);
    return Math.ceil(waitMs / 1_000);
  };
};
