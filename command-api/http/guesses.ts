import type { Context } from 'koa';
import type { ProxyTrust } from '../../ops/http/client-address.js';
import { throttleGuesses } from '../../ops/http/guess-throttle.js';
import { messages } from '../../schemas/http/errors.js';
import { failure, type Reply } from './reply.js';

/** Throttles wrong secrets by the client's network. A correct secret is never throttled. */
export const createGuesses = (isTrusted: ProxyTrust) => {
  const countWrong = throttleGuesses(isTrusted);
  return {
    /** Counts a wrong secret. @returns `wrong`, or 429 after ten per minute */
    refuse({ req }: Context, wrong: Reply): Reply {
      const retryAfter = countWrong(req);
      if (retryAfter === 0) return wrong;
      const headers = { 'Retry-After': String(retryAfter) };
      return { ...failure(429, messages.tooManyAttempts, headers), retryAfter };
    },
  };
};

export type Guesses = ReturnType<typeof createGuesses>;
