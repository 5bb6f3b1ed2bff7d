import pLimit, { type LimitFunction } from 'p-limit';
import { BoundedMap } from '../../ops/platform/bounded-map.js';
import { Overloaded } from '../../ops/platform/concurrency/batcher.js';
import { networksAround } from '../../ops/http/client-address.js';
import type { PasswordHasher } from '../../ops/platform/passwords/password-hasher.js';
import { isUnavailable } from '../../ops/platform/error-codes.js';
import { FailedTries } from './failed-tries.js';
import type { ClientHash, Throttle, Verdict } from './throttle.js';
import { Turns, type Standing } from './turns.js';

/** Few tasks of each name at once, few more waiting; tasks of other names are not affected. */
export class NamedLimits {
  readonly #limits = new Map<string, LimitFunction>();

  constructor(
    private readonly atOnce: number,
    private readonly maxWaiting: number,
  ) {}

  /** Whether `run` would refuse this name now. */
  isFull(name: string): boolean {
    return this.#tasksOf(name) >= this.atOnce + this.maxWaiting;
  }

  /** Runs `task` when there is room for it at this name. @throws Overloaded; what `task` threw. */
  async run<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
    if (this.isFull(name)) throw new Overloaded(this.maxWaiting);
    const limit = this.#limits.get(name) ?? pLimit(this.atOnce);
    this.#limits.set(name, limit);
    try {
      return await limit(task);
    } finally {
      if (this.#tasksOf(name) === 0) this.#limits.delete(name);
    }
  }

  #tasksOf(name: string): number {
    const limit = this.#limits.get(name);
    return limit ? limit.activeCount + limit.pendingCount : 0;
  }
}

const maxWaits = 10_000;

/**
 * The waits that this node knows of, by name. A wait is never cut short, so the ledger need not be
 * asked again before it ends. With too many waits the earliest known are forgotten: then the ledger is
 * asked again.
 */
export class KnownWaits {
  readonly #ends = new BoundedMap<string, number>(maxWaits);

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Milliseconds that are left for certain; 0 where none are known. */
  left(name: string): number {
    const left = (this.#ends.get(name) ?? 0) - this.now();
    if (left <= 0) this.#ends.delete(name);
    return Math.max(left, 0);
  }

  note(name: string, waitMs: number): void {
    this.#ends.set(name, this.now() + waitMs);
  }
}

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
 * Failed tries of a /24 or /48 from which on its other networks are suspected too, where a try costs no
 * hash: more than people who mistype make, and few against the 65,536 networks of a /48.
 */
const manyFailures = 100;

const restStepMs = 25;
const longestRestMs = 300;

/**
 * Checks a visitor's password: throttled first, hashed then, and counted before the answer. A client
 * within its wait gets no check at all, not even of the right password: telling it apart would be
 * the very guess that the wait forbids, and a flood of guesses is to cost no hashes.
 *
 * In a flood from many networks, each of them has tries left. Those whose network failed lately are
 * suspected: they are checked slowly, or refused, and a visitor whose network did not goes before them.
 * Where no hash is needed, such a visitor waits for nobody.
 */
export class PasswordCheck {
  /** Tries that wait for their turn, and those refused. */
  readonly turns = new Turns();
  readonly #clients = new NamedLimits(triesOfClient, triesWaitingOfClient);
  readonly #failed = new FailedTries();
  readonly #waits = new KnownWaits();

  constructor(
    private readonly clientHash: ClientHash,
    private readonly throttle: Throttle,
    private readonly passwords: Pick<PasswordHasher, 'needsHash' | 'verify'>,
  ) {}

  /** @throws Overloaded */
  async check(attempt: PasswordTry): Promise<TryOutcome> {
    const { code, network } = attempt;
    const name = `${code} ${network}`;
    // A known wait takes no room, and the ledger is not asked.
    const refused = this.#refusal(name);
    if (refused) return refused;
    if (this.#clients.isFull(network)) return { type: 'overloaded' };
    return this.#clients.run(network, () => this.#checkInTurn(attempt, name));
  }

  async #checkInTurn(attempt: PasswordTry, name: string): Promise<TryOutcome> {
    const { code, network, passwordHash, password } = attempt;
    const networks = [network, ...networksAround(network)];
    const needsHash = (): boolean => this.passwords.needsHash(passwordHash, password);
    const standing = (): Standing => {
      const failures = networks.map((each) => this.#failed.of(each));
      const [own = 0, near = 0] = failures;
      const suspected = own > 0 || near >= manyFailures || (near > 0 && needsHash());
      return {
        network: suspected ? 'suspected' : 'unsuspected',
        failures,
        failuresOfLink: this.#failed.of(code),
      };
    };
    const check = (): Promise<TryOutcome> => this.#checkNow(attempt, name);
    const restMs = ({ type }: TryOutcome): number => {
      const [own = 0, near = 0] = standing().failures;
      return type === 'wrong' ? Math.min(Math.max(own, near) * restStepMs, longestRestMs) : 0;
    };
    const waitsForNobody = !needsHash() && standing().network === 'unsuspected';
    try {
      const outcome = waitsForNobody
        ? await check()
        : await this.turns.run({ code, standing }, check, restMs);
      // One refused failed too: else a flood would be new to us until each of its networks had its turn.
      if (outcome === null || outcome.type === 'wrong') this.#failed.note([...networks, code]);
      return outcome ?? { type: 'overloaded' };
    } catch (error) {
      if (isUnavailable(error)) this.turns.fail(error);
      throw error;
    }
  }

  async #checkNow(attempt: PasswordTry, name: string): Promise<TryOutcome> {
    // A try before it may have been the last one allowed.
    const refused = this.#refusal(name);
    if (refused) return refused;
    const { code, network, passwordHash, password } = attempt;
    const client = { code, hash: await this.clientHash.of(code, network) };
    const admission = await this.throttle.admit(client);
    if (admission.type === 'throttled') {
      this.#waits.note(name, admission.waitMs);
      return admission;
    }
    let verdict: Verdict = 'unchecked';
    try {
      const right = isPossible(password) && (await this.passwords.verify(passwordHash, password));
      verdict = right ? 'right' : 'wrong';
    } finally {
      await this.throttle.settle(client, verdict);
    }
    return { type: verdict };
  }

  #refusal(name: string): TryOutcome | null {
    const waitMs = this.#waits.left(name);
    return waitMs > 0 ? { type: 'throttled', waitMs } : null;
  }
}
