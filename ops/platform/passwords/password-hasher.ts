import pLimit from 'p-limit';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { BoundedMap } from '../bounded-map.js';
import { FairQueue } from '../concurrency/fair-queue.js';
import { startThread, type Thread } from '../concurrency/thread.js';
import type { Metrics } from '../metrics/metrics.js';
import { bytesOf } from './password-bytes.js';

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

/** Each hash takes a thread, and 19 MiB. On two cores, the other core is for redirects. */
const concurrency = availableParallelism() > 2 ? 2 : 1;
/** Some seconds of work on one core. */
const maxNewWaiting = 512;
/** Two batches of an API key. */
const maxNewOfKey = 100;
/** At 25 ms a hash, the last check in a full queue waits for 1.6 s on two cores. */
const maxChecksWaiting = 64;
/** The throttle admits five at a time for each link. */
const maxChecksOfNetwork = 16;
/** About 4 MB. */
const maxKnown = 10_000;

/**
 * Hashes and checks passwords. A process has one instance, because its limits apply to the process. New passwords wait
 * in a queue whose sources are API keys, and checks in a queue whose sources are networks. The two queues alternate.
 *
 * A password that was right once, or was hashed here, is known from then on: the same hash is checked
 * again in microseconds, so a flood of guesses at such a link costs no hashes. Known passwords are kept
 * as MACs, whose key exists only in the memory of this process.
 */
export class PasswordHasher {
  readonly #newPasswords = new FairQueue(concurrency, maxNewWaiting);
  readonly #checks = new FairQueue(concurrency, maxChecksWaiting);
  readonly #limit = pLimit(concurrency);
  readonly #hashing = new Hashing();
  readonly #macKey = randomBytes(32);
  /** MACs of right passwords, by hash. */
  readonly #known = new BoundedMap<string, Buffer>(maxKnown);

  /** Current numbers of passwords, and the number of passwords that were refused since the start. */
  get load(): Readonly<FairQueue['load']> {
    const { activeCount: running, pendingCount } = this.#limit;
    const [newPasswords, checks] = [this.#newPasswords.load, this.#checks.load];
    return {
      running,
      waiting: newPasswords.waiting + checks.waiting + pendingCount,
      refused: newPasswords.refused + checks.refused,
    };
  }

  /** Returns the hashes in the order of the passwords. @throws Overloaded */
  hashAll(keyId: string, passwords: readonly string[]): Promise<readonly string[]> {
    const hashes = passwords.map((password) => async () => {
      const hash = await this.#limit(() => this.#hashing.hash(password));
      this.#known.set(hash, this.#macOf(hash, password));
      return hash;
    });
    return this.#newPasswords.run(keyId, maxNewOfKey, hashes);
  }

  /** @throws Overloaded if `verify` would be refused at the moment. */
  ensureCapacity(passwordHash: string, network: string): void {
    if (!this.#known.get(passwordHash)) this.#checks.ensureCapacity(network, maxChecksOfNetwork, 1);
  }

  /** @throws Overloaded */
  async verify(passwordHash: string, password: string, network: string): Promise<boolean> {
    const mac = this.#macOf(passwordHash, password);
    const known = this.#known.get(passwordHash);
    if (known) return timingSafeEqual(known, mac);
    const check = (): Promise<boolean> =>
      this.#limit(() => this.#hashing.verify(passwordHash, password));
    const [right = false] = await this.#checks.run(network, maxChecksOfNetwork, [check]);
    if (right) this.#known.set(passwordHash, mac);
    return right;
  }

  #macOf(hash: string, password: string): Buffer {
    return createHmac('sha256', this.#macKey).update(hash).update(bytesOf(password)).digest();
  }
}

/** Metrics of the queues in which passwords wait to be hashed or checked. */
export const exposePasswords = (
  metrics: Metrics,
  passwords: Pick<PasswordHasher, 'load'>,
): void => {
  metrics.gauge({
    name: 'linklog_password_hashes_running',
    help: 'Passwords that are being hashed or checked',
    read: () => passwords.load.running,
  });
  metrics.gauge({
    name: 'linklog_password_hashes_waiting',
    help: 'Passwords that wait to be hashed or checked',
    read: () => passwords.load.waiting,
  });
  metrics.counter({
    name: 'linklog_password_hashes_refused_total',
    help: 'Passwords refused with 503, because too many were waiting',
    read: () => passwords.load.refused,
  });
};
