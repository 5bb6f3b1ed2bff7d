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
 * Hashes in low-priority threads, one for each concurrent password. In libuv's threads, which have the priority of the
 * event loop, many guesses would delay other visitors. Threads are started on demand and do not keep the process alive.
 */
export class Hashing {
  readonly #idle: Thread<HashingThread>[] = [];

  constructor(private readonly program = new URL('hashing-thread.js', import.meta.url)) {}

  /** Returns the argon2id hash, which includes its parameters and its salt. */
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

  /** Returns an idle thread that still runs, or a new one. */
  #take(): Thread<HashingThread> {
    for (let thread = this.#idle.pop(); thread; thread = this.#idle.pop()) {
      if (thread.isRunning) return thread;
    }
    return startThread(this.program);
  }
}

/** Each hash needs a thread and 19 MiB. On two cores, one is for redirects. */
const concurrency = availableParallelism() > 2 ? 2 : 1;
/** Some seconds of work on one core. */
const maxNewWaiting = 512;
/** Two batches of an API key. */
const maxNewOfKey = 100;
/** At 25 ms a hash, the last check of a full queue waits for 1.6 s on two cores. */
const maxChecksWaiting = 64;
/** The throttle admits five concurrent checks for each link. */
const maxChecksOfNetwork = 16;
/** About 4 MB. */
const maxKnown = 10_000;

/**
 * Hashes and checks passwords, with one instance per process, because the limits apply to the process. New passwords wait
 * in a queue with a group for each API key, checks in a queue with a group for each network. The two queues alternate.
 *
 * The MAC of a password that was right once or was hashed here is cached by its hash, so later checks take microseconds.
 * The MAC key exists only in the memory of this process.
 */
export class PasswordHasher {
  readonly #newPasswords = new FairQueue(concurrency, maxNewWaiting);
  readonly #checks = new FairQueue(concurrency, maxChecksWaiting);
  readonly #limit = pLimit(concurrency);
  readonly #hashing = new Hashing();
  readonly #macKey = randomBytes(32);
  readonly #known = new BoundedMap<string, Buffer>(maxKnown);

  /** `refused` counts since the start. */
  get load(): Readonly<FairQueue['load']> {
    const { activeCount: running, pendingCount } = this.#limit;
    const [newPasswords, checks] = [this.#newPasswords.load, this.#checks.load];
    return {
      running,
      waiting: newPasswords.waiting + checks.waiting + pendingCount,
      refused: newPasswords.refused + checks.refused,
    };
  }

  /** @throws Overloaded */
  hashAll(keyId: string, passwords: readonly string[]): Promise<readonly string[]> {
    const hashes = passwords.map((password) => async () => {
      const hash = await this.#limit(() => this.#hashing.hash(password));
      this.#known.set(hash, this.#macOf(hash, password));
      return hash;
    });
    return this.#newPasswords.run(keyId, maxNewOfKey, hashes);
  }

  /** @throws Overloaded if `verify` would be refused now */
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
