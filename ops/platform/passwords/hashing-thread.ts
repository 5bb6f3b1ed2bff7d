import { hashSync, verifySync } from '@node-rs/argon2';
import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import path from 'node:path';
import { parentPort } from 'node:worker_threads';
import type { HashingOutcome, HashingTask } from './password-hasher.js';

/** OWASP's second choice of parameters: 19 MiB and two passes; some 25 ms of a core. argon2id. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** The same characters typed on two keyboards may be other code points. */
const bytesOf = (password: string): Buffer => Buffer.from(password.normalize('NFC'), 'utf8');

/**
 * Lets what answers visitors go first, yet does not starve on a busy machine. On Linux a priority is a
 * thread's own, and a thread's number is where it looks itself up; elsewhere it would be the whole
 * process's.
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

const outcomeOf = (task: HashingTask): HashingOutcome => {
  try {
    const password = bytesOf(task.password);
    return task.type === 'hash'
      ? { type: 'hashed', hash: hashSync(password, cost) }
      : { type: 'verified', right: verifySync(task.hash, password) };
  } catch (error) {
    return { type: 'failed', message: (error as Error).message };
  }
};

stepBack();
parentPort?.on('message', (task: HashingTask) => {
  parentPort?.postMessage(outcomeOf(task));
});
