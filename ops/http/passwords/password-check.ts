import type { PasswordHasher } from '../../platform/passwords/password-hasher.js';
import type { ClientHash, Throttle, Verdict } from './throttle.js';

export interface PasswordAttempt {
  readonly subject: string;
  readonly passwordHash: string;
  readonly password: string;
  /** The client's network, as returned by `networkOf`. */
  readonly network: string;
}

export type AttemptOutcome =
  | { readonly type: 'right' }
  | { readonly type: 'wrong' }
  | { readonly type: 'throttled'; readonly waitMs: number };

/** A password has at most 100 characters, each of which some keyboards send as several. */
const maxLength = 400;

/** Other texts cannot be the password of a link: they are wrong without a hash, but count as attempts. */
const isPossible = (password: string): boolean =>
  password.length > 0 && password.length <= maxLength;

/**
 * Checks a visitor's password: the throttle admits the attempt, the hash is checked, and the verdict is
 * recorded before the response. The passwords of a throttled client are not checked at all, not even the
 * right one: a different response to it would reveal what the throttle protects.
 */
export class PasswordCheck {
  constructor(
    private readonly clientHash: ClientHash,
    private readonly throttle: Throttle,
    private readonly passwords: Pick<PasswordHasher, 'ensureCapacity' | 'verify'>,
  ) {}

  /** @throws Overloaded */
  async check(attempt: PasswordAttempt): Promise<AttemptOutcome> {
    const { subject, network, passwordHash, password } = attempt;
    // Before the throttle, so that a flood beyond the queue's capacity writes nothing to PostgreSQL.
    this.passwords.ensureCapacity(passwordHash, network);
    const client = { subject, hash: await this.clientHash.of(subject, network) };
    const admission = await this.throttle.admit(client);
    if (admission.type === 'throttled') return admission;
    let verdict: Verdict = 'unchecked';
    try {
      const right =
        isPossible(password) && (await this.passwords.verify(passwordHash, password, network));
      verdict = right ? 'right' : 'wrong';
    } finally {
      await this.throttle.recordVerdict(client, verdict);
    }
    return { type: verdict };
  }
}
