import { hashSync, verifySync } from '@node-rs/argon2';
import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import path from 'node:path';
import { parentPort } from 'node:worker_threads';
import { bytesOf } from './password-bytes.js';
import type { HashingOutcome, HashingTask } from './password-hasher.js';
import { argon2TextOf, saltFor, withSieve } from './sieve.js';

/** argon2id with OWASP's second choice of parameters: 19 MiB, two iterations; about 25 ms of a core. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/**
 * Lets the threads that answer visitors go first, yet does not starve on a busy machine. On Linux a
 * priority belongs to a thread, whose number is the name of its own folder in /proc; elsewhere it would
 * belong to the whole process.
 */
const stepBack = (): void => {
  if (process.platform !== 'linux') return;
  try {
    const thread = Number(path.basename(readlinkSync('/proc/thread-self')));
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Without /proc, or where it is forbidden: then hashes compete as equals.
  }
};

const outcomeOf = ({ password, hash }: HashingTask): HashingOutcome => {
  try {
    const bytes = bytesOf(password);
    if (hash !== null) return { result: verifySync(argon2TextOf(hash), bytes) };
    return { result: withSieve(hashSync(bytes, { ...cost, salt: saltFor(bytes) })) };
  } catch (error) {
    return { error: (error as Error).message };
  }
};

stepBack();
parentPort?.on('message', (task: HashingTask) => {
  parentPort?.postMessage(outcomeOf(task));
});
