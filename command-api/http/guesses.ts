import type { Context } from 'koa';
import { clientAddress, networkOf, type ProxyTrust } from '../../ops/http/client-address.js';
import { BoundedMap } from '../../ops/platform/collections.js';
import { messages } from '../../schemas/http/errors.js';
import { tooManyRequests, type Reply } from './reply.js';

/** The length of a window, from a network's first wrong guess (ms). */
const windowMs = 60_000;
/** Bounds the memory; beyond it, the oldest window is dropped. */
const maxNetworks = 10_000;

interface Window {
  readonly endsAt: number;
  wrong: number;
}

/** Counts wrong guesses at a secret: after `maxWrong`, the network is throttled until the end of its window. */
export class GuessThrottle {
  constructor(private readonly maxWrong = 10) {}

  readonly #windows = new BoundedMap<string, Window>(maxNetworks);

  /** Time until the network may guess again (ms); 0 if it may now. */
  waitMs(network: string, now: number): number {
    const window = this.#windows.get(network);
    return window && window.wrong >= this.maxWrong ? Math.max(0, window.endsAt - now) : 0;
  }

  countWrong(network: string, now: number): void {
    const window = this.#windows.get(network);
    if (window && now < window.endsAt) {
      window.wrong += 1;
      return;
    }
    this.#windows.set(network, { endsAt: now + windowMs, wrong: 1 });
  }
}

/** Throttles wrong secrets by the client's network. A correct secret is never throttled. */
export const createGuesses = (isTrusted: ProxyTrust) => {
  const throttle = new GuessThrottle();
  return {
    /** Counts a wrong secret. @returns `wrong`, or 429 after ten per minute */
    refuse({ req }: Context, wrong: Reply): Reply {
      const network = networkOf(clientAddress(req, isTrusted));
      const now = performance.now();
      const waitMs = throttle.waitMs(network, now);
      if (waitMs > 0) return tooManyRequests(messages.tooManyAttempts, waitMs);
      throttle.countWrong(network, now);
      return wrong;
    },
  };
};

export type Guesses = ReturnType<typeof createGuesses>;
