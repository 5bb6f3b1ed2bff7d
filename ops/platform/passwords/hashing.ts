import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

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
