import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFairQueue, type QueueLoad } from '../concurrency/fair-queue.js';
import { createHashing } from './hashing.js';
import { createWrongRests } from './wrong-rests.js';

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
