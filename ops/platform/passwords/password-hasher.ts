import pLimit from 'p-limit';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedMap } from '../bounded-map.js';
import { FairQueue } from '../concurrency/fair-queue.js';
import { startThread, type Thread } from '../concurrency/thread.js';
import type { Metrics } from '../metrics/metrics.js';
import { bytesOf } from './password-bytes.js';
import { passesSieve } from './sieve.js';

export interface HashingThread {
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
}

/**
 * Hashes in threads of a low priority, one for each password at the same time: node's own threads
 * would share the cores with the event loop as equals, and visitors of other links would wait for a
 * flood of guesses. Threads are started when they are needed, and keep no process alive.
 */
export class Hashing {
  readonly #idle: Thread<HashingThread>[] = [];

  constructor(private readonly program = new URL('hashing-thread.js', import.meta.url)) {}

  /** A password as it may be kept: argon2id, with its parameters and its salt in the text. */
  hash(password: string): Promise<string> {
    return this.#use((thread) => thread.call('hash', password));
  }

  verify(hash: string, password: string): Promise<boolean> {
    return this.#use((thread) => thread.call('verify', hash, password));
  }

  async #use<Value>(work: (thread: Thread<HashingThread>) => Promise<Value>): Promise<Value> {
    const thread = this.#take();
    thread.ref();
    try {
      return await work(thread);
    } finally {
      thread.unref();
      this.#idle.push(thread);
    }
  }

  /** An idle thread, or a new one: a thread that has ended meanwhile is dropped. */
  #take(): Thread<HashingThread> {
    for (let thread = this.#idle.pop(); thread; thread = this.#idle.pop()) {
      if (thread.isRunning) return thread;
    }
    return startThread(this.program);
  }
}

/** Each takes a thread, and 19 MiB. On two cores one at a time: the other core is for redirects. */
export const hashesAtOnce = availableParallelism() > 2 ? 2 : 1;
/** Some seconds of work on one core. */
const maxWaiting = 512;
/** Two batches of an API key. */
const maxHashesOfKey = 100;
/** About 4 MB. */
const maxKnown = 10_000;

/**
 * Hashes and checks passwords: one a process, so that its bounds are the process's. New passwords wait in
 * a lane of each key. Callers of `verify` keep a line of their own, and have few checks under way: so they
 * and the keys take turns.
 *
 * A password that was right once, or was hashed here, is known from then on: the same hash is checked again
 * in microseconds, so a flood of guesses at such a link costs no hashes. Where it is not known, neither do
 * most guesses: see `sieve.ts`, and one that was wrong is not hashed twice. Passwords are kept as MACs, whose
 * key is in this process's memory alone and never leaves it.
 */
export class PasswordHasher {
  readonly #keys = new FairQueue(hashesAtOnce, maxWaiting, (ms) => sleep(ms));
  readonly #limit = pLimit(hashesAtOnce);
  readonly #hashing = new Hashing();
  readonly #macKey = randomBytes(32);
  /** MACs of right passwords, by hash. */
  readonly #known = new BoundedMap<string, Buffer>(maxKnown);
  /** MACs of wrong passwords that needed a hash. */
  readonly #wrong = new BoundedMap<string, true>(maxKnown);

  /** Passwords at the moment, and those refused so far. */
  get load(): Readonly<FairQueue['load']> {
    const { waiting, refused } = this.#keys.load;
    const { activeCount: running, pendingCount } = this.#limit;
    return { running, waiting: waiting + pendingCount, refused };
  }

  /** Hashes in the order of the passwords. @throws Overloaded */
  hashAll(keyId: string, passwords: readonly string[]): Promise<readonly string[]> {
    const hashes = passwords.map((password) => async () => {
      const hash = await this.#limit(() => this.#hashing.hash(password));
      this.#known.set(hash, this.#macOf(hash, password));
      return hash;
    });
    return this.#keys.run(keyId, maxHashesOfKey, hashes);
  }

  /** Whether `verify` takes a hash: some milliseconds, and a turn. */
  needsHash(passwordHash: string, password: string): boolean {
    return this.#verifyWithoutHash(passwordHash, password) === null;
  }

  async verify(passwordHash: string, password: string): Promise<boolean> {
    const outcome = this.#verifyWithoutHash(passwordHash, password);
    if (outcome !== null) return outcome;
    const right = await this.#limit(() => this.#hashing.verify(passwordHash, password));
    const mac = this.#macOf(passwordHash, password);
    if (right) this.#known.set(passwordHash, mac);
    else this.#wrong.set(mac.toString('base64'), true);
    return right;
  }

  /** `null` where only a hash can tell. */
  #verifyWithoutHash(passwordHash: string, password: string): boolean | null {
    const mac = this.#macOf(passwordHash, password);
    const known = this.#known.get(passwordHash);
    if (known) return timingSafeEqual(known, mac);
    const wrong =
      !passesSieve(passwordHash, bytesOf(password)) || this.#wrong.has(mac.toString('base64'));
    return wrong ? false : null;
  }

  #macOf(hash: string, password: string): Buffer {
    return createHmac('sha256', this.#macKey).update(hash).update(bytesOf(password)).digest();
  }
}

/** Metrics of the queue in which passwords are hashed and checked. */
export const exposePasswords = (
  metrics: Metrics,
  passwords: Pick<PasswordHasher, 'load'>,
): void => {
  metrics.gauge({
    name: 'linklog_password_hashes_running',
    help: 'Passwords that are hashed or checked at the moment',
    read: () => passwords.load.running,
  });
  metrics.gauge({
    name: 'linklog_password_hashes_waiting',
    help: 'Passwords that wait to be hashed or checked',
    read: () => passwords.load.waiting,
  });
  metrics.counter({
    name: 'linklog_password_hashes_refused_total',
    help: 'New passwords refused since too many waited: 503',
    read: () => passwords.load.refused,
  });
};
