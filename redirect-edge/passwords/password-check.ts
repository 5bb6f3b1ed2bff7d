import type { PasswordDesk } from '../../ops/platform/passwords/password-desk.js';
import type { ClientGate } from './client-gate.js';
import type { ClientHash } from './client-hash.js';
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
  | { readonly type: 'throttled'; readonly waitMs: number };

export interface PasswordCheck {
  /** @throws Overloaded */
  check(attempt: PasswordTry): Promise<TryOutcome>;
}

/** A password has at most 100 characters, each of which some keyboards send as several. */
const maxLength = 400;

/** What can be a link's password: the rest is wrong without a hash, but a try like any other. */
const possible = (password: string): boolean => password.length > 0 && password.length <= maxLength;

/**
 * Checks a visitor's password: throttled first, hashed then, and counted before the answer. A client
 * within its wait gets no check at all, not even of the right password: telling it apart would be
 * the very guess that the wait forbids, and a flood of guesses is to cost no hashes.
 */
export const createPasswordCheck = (deps: {
  readonly gate: ClientGate;
  readonly clientHash: ClientHash;
  readonly throttle: Throttle;
  readonly passwords: Pick<PasswordDesk, 'verify'>;
}): PasswordCheck => {
  const { gate, clientHash, throttle, passwords } = deps;

  const checkNow = async (attempt: PasswordTry): Promise<TryOutcome> => {
    const { code, passwordHash, password, network } = attempt;
    const visitor = { code, client: await clientHash.of(code, network) };
    const admission = await throttle.admit(visitor);
    if (admission.type === 'throttled') return admission;
    let verdict: Verdict = 'unchecked';
    try {
      const right = possible(password) && (await passwords.verify(code, passwordHash, password));
      verdict = right ? 'right' : 'wrong';
    } finally {
      await throttle.settle(visitor, verdict);
    }
    return { type: verdict };
  };

  return { check: (attempt) => gate.pass(attempt.network, () => checkNow(attempt)) };
};
