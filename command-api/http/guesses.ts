import type { Context } from 'koa';
import { clientAddress, networkOf, type ProxyTrust } from '../../ops/http/client-address.js';
import { GuessThrottle } from '../../ops/http/guess-throttle.js';
import { messages } from '../../schemas/http/errors.js';
import { failure, type Reply } from './reply.js';

/** Throttles wrong secrets by the client's network. A correct secret is never throttled. */
export const createGuesses = (isTrusted: ProxyTrust) => {
  const throttle = new GuessThrottle();
  return {
    /** Counts a wrong secret. @returns `wrong`, or 429 after ten per minute */
    refuse({ req }: Context, wrong: Reply): Reply {
      const network = networkOf(clientAddress(req, isTrusted));
      const now = performance.now();
      const waitMs = throttle.waitMs(network, now);
      if (waitMs === 0) {
        throttle.countWrong(network, now);
        return wrong;
      }
      const retryAfter = Math.ceil(waitMs / 1_000);
      const headers = { 'Retry-After': String(retryAfter) };
      return { ...failure(429, messages.tooManyAttempts, headers), retryAfter };
    },
  };
};

export type Guesses = ReturnType<typeof createGuesses>;
