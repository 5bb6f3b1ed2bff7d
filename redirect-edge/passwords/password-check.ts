import pLimit, { type LimitFunction } from 'p-limit';
import { Overloaded } from '../../ops/platform/concurrency/batcher.js';
import {
  maxChecksOfLink,
  type PasswordHasher,
} from '../../ops/platform/passwords/password-hasher.js';
import type { ClientHash, Throttle, Verdict } from './throttle.js';

/** Few tasks of each name at once, few more waiting; tasks of other names are not affected. */
export interface NamedLimits {
  /** Whether `run` would refuse this name now. */
  isFull(name: string): boolean;
  /** Runs `task` when there is room for it at this name. @throws Overloaded; what `task` threw. */
  run<Result>(name: string, task: () => Promise<Result>): Promise<Result>;
}

export const createNamedLimits = (options: {
  readonly atOnce: number;
  readonly maxWaiting: number;
}): NamedLimits => {
  const { atOnce, maxWaiting } = options;
  const limits = new Map<string, LimitFunction>();
  const tasksOf = (name: string): number => {
    const limit = limits.get(name);
    return limit ? limit.activeCount + limit.pendingCount : 0;
  };
  const isFull = (name: string): boolean => tasksOf(name) >= atOnce + maxWaiting;
  return {
    isFull,
    async run(name, task) {
      if (isFull(name)) throw new Overloaded(maxWaiting);
      const limit = limits.get(name) ?? pLimit(atOnce);
      limits.set(name, limit);
      try {
        return await limit(task);
      } finally {
        if (tasksOf(name) === 0) limits.delete(name);
      }
    },
  };
};

/** The waits that this node knows of; each has a name. */
export interface KnownWaits {
  /** Milliseconds that are left for certain; 0 where none are known. */
  left(name: string): number;
  note(name: string, waitMs: number): void;
}

const maxWaits = 10_000;

/**
 * A wait is never cut short, so the ledger need not be asked again before it ends. With too many
 * waits all are forgotten: then the ledger is asked once more.
 */
export const createKnownWaits = (now: () => number = () => performance.now()): KnownWaits => {
  const ends = new Map<string, number>();
  return {
    left(name) {
      const end = ends.get(name);
      if (end === undefined) return 0;
      const left = end - now();
      if (left <= 0) ends.delete(name);
      return Math.max(left, 0);
    },
    note(name, waitMs) {
      if (ends.size >= maxWaits) ends.clear();
      ends.set(name, now() + waitMs);
    },
  };
};

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
  /** Too many tries at once. An outcome: in a flood, an error would add a tenth to the cost. */
  | { readonly type: 'overloaded' };

export interface PasswordCheck {
  /** @throws Overloaded */
  check(attempt: PasswordTry): Promise<TryOutcome>;
}

/** A password has at most 100 characters, each of which some keyboards send as several. */
const maxLength = 400;

/** Other texts are no link's password: they are wrong without a hash, but count as tries. */
const isPossible = (password: string): boolean =>
  password.length > 0 && password.length <= maxLength;

/**
 * A client's tries at all links: a client that tries a thousand links at once delays only itself.
 * One more at once than the throttle lets through for a link.
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
  const clients = createNamedLimits({ atOnce: triesOfClient, maxWaiting: triesWaitingOfClient });
  // All clients' tries at a link: refused here if the hasher has no room, before the ledger is asked.
  const links = createNamedLimits({ atOnce: maxChecksOfLink, maxWaiting: 0 });
  const waits = createKnownWaits();

  const refusal = (name: string): TryOutcome | null => {
    const waitMs = waits.left(name);
    return waitMs > 0 ? { type: 'throttled', waitMs } : null;
  };

  const checkNow = async (attempt: PasswordTry, name: string): Promise<TryOutcome> => {
    // A try before it may have been the last one allowed.
    const refused = refusal(name);
    if (refused) return refused;
    const { code, network, passwordHash, password } = attempt;
    const client = { code, hash: await clientHash.of(code, network) };
    const admission = await throttle.admit(client);
    if (admission.type === 'throttled') {
      waits.note(name, admission.waitMs);
      return admission;
    }
    let verdict: Verdict = 'unchecked';
    try {
      const right = isPossible(password) && (await passwords.verify(code, passwordHash, password));
      verdict = right ? 'right' : 'wrong';
    } finally {
      await throttle.settle(client, verdict);
    }
    return { type: verdict };
  };

  return {
    async check(attempt) {
      const { code, network } = attempt;
      const name = `${code} ${network}`;
      // A known wait takes no room, and the ledger is not asked.
      const refused = refusal(name);
      if (refused) return refused;
      if (clients.isFull(network) || links.isFull(code)) return { type: 'overloaded' };
      return clients.run(network, () => links.run(code, () => checkNow(attempt, name)));
    },
  };
};
