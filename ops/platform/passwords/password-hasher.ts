import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { FairQueue } from '../concurrency/fair-queue.js';
import type { Metrics } from '../metrics/metrics.js';

/** With a hash, the password is checked against it; with `null`, it is hashed. */
export interface HashingTask {
  readonly password: string;
  readonly hash: string | null;
}

export type HashingOutcome = { readonly result: string | boolean } | { readonly error: string };

/**
 * Hashes in threads of a low priority, one for each password at the same time: node's own threads
 * would share the cores with the event loop as equals, and visitors of other links would wait for a
 * flood of guesses. Threads are started when they are needed, and keep no process alive.
 */
export class Hashing {
  readonly #idle: Worker[] = [];

  /** A password as it may be kept: argon2id, with its parameters and its salt in the text. */
  async hash(password: string): Promise<string> {
    return String(await this.#run({ password, hash: null }));
  }

  async verify(hash: string, password: string): Promise<boolean> {
    return (await this.#run({ password, hash })) === true;
  }

  async #run(task: HashingTask): Promise<string | boolean> {
    const thread = this.#idle.pop() ?? new Worker(new URL('hashing-thread.js', import.meta.url));
    thread.ref();
    thread.postMessage(task);
    // A thread that fails emits an error, which rejects; the thread is not used again.
    const [outcome] = (await once(thread, 'message')) as [HashingOutcome];
    thread.unref();
    this.#idle.push(thread);
    if ('error' in outcome) throw new Error(outcome.error);
    return outcome.result;
  }
}

const stepMs = 25;
const longestMs = 300;
const maxLinks = 10_000;

/**
 * How long a link's checks rest after each: longer with each wrong password in a row. Visitors who
 * mistype are hardly delayed; a flood of guesses gets three hashes a second, less than a tenth of a
 * core. On two cores that counts: the thread that answers a redirect may wait some milliseconds for a
 * core on which a hash has just begun. With too many links all counts are forgotten.
 */
export class WrongRests {
  readonly #wrongInARow = new Map<string, number>();

  /** The least milliseconds before the link's next check. */
  after(code: string, right: boolean): number {
    if (right) {
      this.#wrongInARow.delete(code);
      return 0;
    }
    if (this.#wrongInARow.size >= maxLinks) this.#wrongInARow.clear();
    const times = (this.#wrongInARow.get(code) ?? 0) + 1;
    this.#wrongInARow.set(code, times);
    return Math.min(times * stepMs, longestMs);
  }
}

/** Each takes a thread, and 19 MiB. On two cores one at a time: the other core is for redirects. */
const atOnce = availableParallelism() > 2 ? 2 : 1;
/** About 6 s of work on one core, if they are for many links. */
const maxWaiting = 512;
/** Two batches of an API key. */
const maxHashesOfKey = 100;
/** So few that the last of them waits only some seconds when all are wrong. */
export const maxChecksOfLink = 24;

/**
 * Hashes and checks passwords: one a process, so that its bounds are the process's. Keys and links
 * have a lane each: a flood of guesses at one link delays no other link.
 */
export class PasswordHasher {
  readonly #queue = new FairQueue(atOnce, maxWaiting, (ms) => sleep(ms));
  readonly #hashing = new Hashing();
  readonly #rests = new WrongRests();
  readonly load: Readonly<FairQueue['load']> = this.#queue.load;

  /** Hashes in the order of the passwords. @throws Overloaded */
  hashAll(keyId: string, passwords: readonly string[]): Promise<readonly string[]> {
    const hashes = passwords.map((password) => () => this.#hashing.hash(password));
    return this.#queue.run(`key ${keyId}`, maxHashesOfKey, hashes);
  }

  /** @throws Overloaded */
  async verify(code: string, passwordHash: string, password: string): Promise<boolean> {
    const check = (): Promise<boolean> => this.#hashing.verify(passwordHash, password);
    const restMs = (right: boolean): number => this.#rests.after(code, right);
    const [right] = await this.#queue.run(`link ${code}`, maxChecksOfLink, [check], restMs);
    return right === true;
  }
}

/** Metrics of the queue in which passwords are hashed and checked. */
export const exposePasswords = (metrics: Metrics, { load }: Pick<PasswordHasher, 'load'>): void => {
  metrics.gauge({
    name: 'linklog_password_hashes_running',
    help: 'Passwords that are hashed or checked at the moment',
    read: () => load.running,
  });
  metrics.gauge({
    name: 'linklog_password_hashes_waiting',
    help: 'Passwords that wait to be hashed or checked',
    read: () => load.waiting,
  });
  metrics.counter({
    name: 'linklog_password_hashes_refused_total',
    help: 'Passwords refused since too many waited: 503',
    read: () => load.refused,
  });
};
