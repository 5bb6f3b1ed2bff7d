import type { Context } from 'koa';
import {
  clientAddress,
  networkOf,
  type ProxyTrust,
} from '../../ops/platform/http/client-address.js';
import { GuessThrottle } from '../../ops/platform/http/guess-throttle.js';
import { messages } from '../../schemas/http/errors.js';
import { failure, type Reply } from './reply.js';

/** Who guesses a secret of a listener more than ten times a minute has to wait. */
export const createGuesses = (isTrusted: ProxyTrust) => {
  const throttle = new GuessThrottle();
  const networkIn = ({ req }: Context): string => networkOf(clientAddress(req, isTrusted));
  return {
    /** The 429 of a client that has to wait. It does not learn which secret is right. */
    refusalOf(ctx: Context): Reply | null {
      const waitMs = throttle.waitMs(networkIn(ctx), performance.now());
      if (waitMs === 0) return null;
      const retryAfter = Math.ceil(waitMs / 1_000);
      const headers = { 'Retry-After': String(retryAfter) };
      return { ...failure(429, messages.tooManyAttempts, headers), retryAfter };
    },
    countWrong: (ctx: Context): void => {
      throttle.countWrong(networkIn(ctx), performance.now());
    },
    /** Looks a secret up; `null` is a wrong one. It counts meanwhile: many at once get ten answers. */
    async look<Found>(ctx: Context, find: () => Promise<Found | null>): Promise<Found | null> {
      const network = networkIn(ctx);
      throttle.countWrong(network, performance.now());
      let isWrong = false;
      try {
        const found = await find();
        isWrong = found === null;
        return found;
      } finally {
        if (!isWrong) throttle.takeBack(network);
      }
    },
  };
};

export type Guesses = ReturnType<typeof createGuesses>;
