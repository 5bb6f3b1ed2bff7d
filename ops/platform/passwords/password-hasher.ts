import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createFairQueue, type QueueLoad } from '../concurrency/fair-queue.js';
import type { Metrics } from '../metrics/metrics.js';

export type HashingTask =
  | { readonly type: 'hash'; readonly password: string }
  | { readonly type: 'verify'; readonly password: string; readonly hash: string };

export type HashingOutcome =
  | { readonly type: 'hashed'; readonly hash: string }
  | { readonly type: 'verified'; readonly right: boolean }
  | { readonly type: 'failed'; readonly message: string };

export interface Hashing {
  /** A password as it may be kept: argon2id, with its parameters and its salt in the text. */
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
}

/**
 * Hashes in threads of a low priority, one for each password in hand: node's own threads would
 * share the cores with the event loop as equals, and visitors of other links would wait for a flood
 * of guesses. Threads are started when they are needed, and keep no process alive.
 */
export const createHashing = (): Hashing => {
  const idle: Worker[] = [];

  const run = async (task: HashingTask): Promise<HashingOutcome> => {
    const thread = idle.pop() ?? new Worker(new URL('hashing-thread.js', import.meta.url));
    thread.ref();
    thread.postMessage(task);
    // A thread that fails says so by an error, which rejects; it is not used again.
    const [outcome] = (await once(thread, 'message')) as [HashingOutcome];
    thread.unref();
    idle.push(thread);
    if (outcome.type === 'failed') throw new Error(outcome.message);
    return outcome;
  };

  return {
    async hash(password) {
      const outcome = await run({ type: 'hash', password });
      if (outcome.type !== 'hashed') throw new Error('A password was not hashed');
      return outcome.hash;
    },
    async verify(hash, password) {
      const outcome = await run({ type: 'verify', password, hash });
      if (outcome.type !== 'verified') throw new Error('A password was not verified');
      return outcome.right;
    },
  };
};

/** How long a link's checks rest after each. */
export interface WrongRests {
  /** Milliseconds, at least, before the link's next check. */
  after(code: string, right: boolean): number;
}

const stepMs = 25;
const longestMs = 300;
const maxLinks = 10_000;

/**
 * The more wrong passwords in a row, the longer the rest. Visitors who mistype are hardly held up; a
 * flood of guesses gets three hashes a second, less than a tenth of a core. On two cores that counts:
 * who wakes up to answer a redirect may wait some milliseconds for a core on which a hash just began.
 * With too many links all counts are forgotten, and begin anew.
 */
export const createWrongRests = (): WrongRests => {
  const wrongInARow = new Map<string, number>();
  return {
    after(code, right) {
      if (right) {
        wrongInARow.delete(code);
        return 0;
      }
      if (wrongInARow.size >= maxLinks) wrongInARow.clear();
      const times = (wrongInARow.get(code) ?? 0) + 1;
      wrongInARow.set(code, times);
      return Math.min(times * stepMs, longestMs);
    },
  };
};

/**
 * Each holds a thread, and 19 MiB. On two cores one at a time, however many wait: the other core is
 * for those who want to be redirected.
 */
const atOnce = availableParallelism() > 2 ? 2 : 1;
/** Some 6 s of work on one core, if they are for many links. */
const maxWaiting = 512;
/** Two batches of an API key. */
const maxHashesOfKey = 100;
/** So few that the last of them waits some seconds, where all are wrong. */
export const maxChecksOfLink = 24;

/** Where passwords are hashed and checked: one a process, so that its bounds are the process's. */
export interface PasswordHasher {
  readonly load: QueueLoad;
  /** Hashes in the order of the passwords. @throws Overloaded */
  hashAll(keyId: string, passwords: readonly string[]): Promise<readonly string[]>;
  /** @throws Overloaded */
  verify(code: string, passwordHash: string, password: string): Promise<boolean>;
}

/** Keys and links have a lane each: a flood of guesses at one link delays nobody else. */
export const createPasswordHasher = (): PasswordHasher => {
  const queue = createFairQueue({ atOnce, maxWaiting, rest: (ms) => sleep(ms) });
  const hashing = createHashing();
  const rests = createWrongRests();
  return {
    load: queue.load,
    hashAll: (keyId, passwords) =>
      queue.run(
        `key ${keyId}`,
        maxHashesOfKey,
        passwords.map((password) => () => hashing.hash(password)),
      ),
    async verify(code, passwordHash, password) {
      const check = (): Promise<boolean> => hashing.verify(passwordHash, password);
      const restMs = (right: boolean): number => rests.after(code, right);
      const [right] = await queue.run(`link ${code}`, maxChecksOfLink, [check], restMs);
      return right === true;
    },
  };
};

/** Tells of the queue in which passwords are hashed and checked. */
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
