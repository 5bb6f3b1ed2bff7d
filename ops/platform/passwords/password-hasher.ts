import pLimit from 'p-limit';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { BoundedMap } from '../collections.js';
import { Overloaded } from '../concurrency/batcher.js';
import { startThread, type Thread } from '../concurrency/thread.js';
import type { Metrics } from '../metrics/metrics.js';

export interface HashingThread {
  hash(password: Uint8Array): Promise<string>;
  verify(hash: string, password: Uint8Array): Promise<boolean>;
}

/** Normalizes, because keyboards produce different code points for the same characters. */
const bytesOf = (password: string): Buffer => Buffer.from(password.normalize('NFC'), 'utf8');

/**
 * Hashes in low-priority threads, one for each concurrent password. In libuv's threads, which have the priority of the
 * event loop, many guesses would delay other visitors. Threads are started on demand and do not keep the process alive.
 */
export class Hashing {
  readonly #idle: Thread<HashingThread>[] = [];

  constructor(private readonly program = new URL('hashing-thread.js', import.meta.url)) {}

  /** Returns the argon2id hash, which includes its parameters and its salt. */
  hash(password: string): Promise<string> {
    return this.#use((thread) => thread.call('hash', bytesOf(password)));
  }

  verify(hash: string, password: string): Promise<boolean> {
    return this.#use((thread) => thread.call('verify', hash, bytesOf(password)));
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

/** Never rejects. */
type Job = () => Promise<void>;

/**
 * A bounded queue of expensive jobs, of which at most `concurrency` run at a time. Groups are served round-robin, so many
 * jobs of one group delay another group by a single job.
 */
export class FairQueue {
  /** `refused` counts since the start. */
  readonly load = { running: 0, waiting: 0, refused: 0 };
  /** The map has the order of insertion: the first group is served next. */
  readonly #groups = new Map<string, Job[]>();

  constructor(
    private readonly concurrency: number,
    private readonly maxWaiting: number,
  ) {}

  /** @throws Overloaded if the group or the queue has no capacity for these jobs. */
  ensureCapacity(group: string, maxInGroup: number, jobs: number): void {
    const { load } = this;
    const waitingInGroup = this.#groups.get(group)?.length ?? 0;
    if (waitingInGroup + jobs > maxInGroup || load.waiting + jobs > this.maxWaiting) {
      load.refused += jobs;
      throw new Overloaded(load.waiting);
    }
  }

  /** Runs all of `works` in their order, or none. @throws Overloaded as `ensureCapacity`; the first error of a work */
  async run<Result>(
    group: string,
    maxInGroup: number,
    works: readonly (() => Promise<Result>)[],
  ): Promise<Result[]> {
    this.ensureCapacity(group, maxInGroup, works.length);
    const jobs = this.#groups.get(group) ?? [];
    const outcomes = works.map(
      (work) =>
        new Promise<Result>((resolve) => {
          jobs.push(() => {
            const done = work();
            resolve(done);
            return done.then(
              () => undefined,
              () => undefined,
            );
          });
        }),
    );
    if (jobs.length > 0) this.#groups.set(group, jobs);
    this.load.waiting += works.length;
    this.#startNext();
    return Promise.all(outcomes);
  }

  #startNext(): void {
    while (this.load.running < this.concurrency) {
      const job = this.#takeNext();
      if (!job) return;
      this.load.running += 1;
      void job().then(() => {
        this.load.running -= 1;
        this.#startNext();
      });
    }
  }

  #takeNext(): Job | undefined {
    const [next] = this.#groups;
    if (!next) return undefined;
    const [group, jobs] = next;
    const job = jobs.shift();
    this.#groups.delete(group);
    if (jobs.length > 0) this.#groups.set(group, jobs);
    this.load.waiting -= 1;
    return job;
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
/** 10,000 MACs take about 4 MB. */
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
