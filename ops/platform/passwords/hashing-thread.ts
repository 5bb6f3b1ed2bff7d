import { hashSync, verifySync } from '@node-rs/argon2';
import { constants } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { stepBack } from '../concurrency/step-back.js';
import { bytesOf } from './password-bytes.js';
import type { HashingOutcome, HashingTask } from './password-hasher.js';
import { argon2TextOf, saltFor, withSieve } from './sieve.js';

/** argon2id with OWASP's second choice of parameters: 19 MiB, two iterations; about 25 ms of a core. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

const outcomeOf = ({ password, hash }: HashingTask): HashingOutcome => {
  try {
    const bytes = bytesOf(password);
    if (hash !== null) return { result: verifySync(argon2TextOf(hash), bytes) };
    return { result: withSieve(hashSync(bytes, { ...cost, salt: saltFor(bytes) })) };
  } catch (error) {
    return { error: (error as Error).message };
  }
};

// Those that answer visitors go first, yet hashes do not starve on a busy machine.
stepBack(constants.priority.PRIORITY_BELOW_NORMAL);
parentPort?.on('message', (task: HashingTask) => {
  parentPort?.postMessage(outcomeOf(task));
});
