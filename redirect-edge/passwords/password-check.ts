import {
  maxChecksOfLink,
  type PasswordHasher,
} from '../../ops/platform/passwords/password-hasher.js';
import type { ClientHash } from './client-hash.js';
import { createGate } from './gate.js';
import { createKnownWaits } from './known-waits.js';
import type { Throttle, Verdict } from './throttle.js';

export interface PasswordTry {
  readonly code: string;
  readonly passwordHash: string;
  readonly password: string;
  /** The client's, as `networkOf` gives it. */
  readonly network: string;
}

export type TryOutcome =
  | { readonly type: 'right' }
  | { readonly type: 'wrong' }
  | { readonly type: 'throttled'; readonly waitMs: number }
  /** More tries are in hand than may be. An outcome: in a flood, an error would add a tenth to the cost. */
  | { readonly type: 'overloaded' };

export interface PasswordCheck {
  /** @throws Overloaded */
  check(attempt: PasswordTry): Promise<TryOutcome>;
}

/** A password has at most 100 characters, each of which some keyboards send as several. */
const maxLength = 400;

/** What can be a link's password: the rest is wrong without a hash, but a try like any other. */
const possible = (password: string): boolean => password.length > 0 && password.length <= maxLength;

/**
 * A client's tries at all links: who asks at a thousand links at once waits for himself, not others
 * for him. One more at once than the throttle lets through for a link.
 */
const triesOfClient = 6;
const triesWaitingOfClient = 100;

/**
 * Checks a visitor's password: throttled first, hashed then, and counted before the answer. A client
 * within its wait gets no check at all, not even of the right password: telling it apart would be
 * the very guess that the wait forbids, and a flood of guesses is to cost no hashes.
 */
export const createPasswordCheck = (deps: {
  readonly clientHash: ClientHash;
  readonly throttle: Throttle;
  readonly passwords: Pick<PasswordHasher, 'verify'>;
}): PasswordCheck => {
  const { clientHash, throttle, passwords } = deps;
  const clients = createGate({ atOnce: triesOfClient, maxWaiting: triesWaitingOfClient });
  // All clients' tries at a link: what the hasher has no room for is refused before the ledger hears of it.
  const links = createGate({ atOnce: maxChecksOfLink, maxWaiting: 0 });
  const waits = createKnownWaits();

  const checkNow = async (attempt: PasswordTry, name: string): Promise<TryOutcome> => {
    const { code, network, passwordHash, password } = attempt;
    const visitor = { code, client: await clientHash.of(code, network) };
    const admission = await throttle.admit(visitor);
    if (admission.type === 'throttled') {
      waits.note(name, admission.waitMs);
      return admission;
    }
    let verdict: Verdict = 'unchecked';
    try {
      const right = possible(password) && (await passwords.verify(code, passwordHash, password));
      verdict = right ? 'right' : 'wrong';
    } finally {
      await throttle.settle(visitor, verdict);
    }
    return { type: verdict };
  };

  const refusal = (name: string): TryOutcome | null => {
    const waitMs = waits.left(name);
    return waitMs > 0 ? { type: 'throttled', waitMs } : null;
  };

  return {
    async check(attempt) {
      const { code, network } = attempt;
      const name = `${code} ${network}`;
      // What is refused for certain costs neither a place nor a look at the ledger.
      const refused = refusal(name);
      if (refused) return refused;
      if (clients.isFull(network) || links.isFull(code)) return { type: 'overloaded' };
      // Where it had to stand in line, a try before it may have been the last one.
      return clients.pass(network, () =>
        links.pass(code, async () => refusal(name) ?? (await checkNow(attempt, name))),
      );
    },
  };
};
