import { hashSync, verifySync } from '@node-rs/argon2';
import { constants } from 'node:os';
import { lowerThreadPriority, serveCalls } from '../concurrency/thread.js';
import type { HashingThread } from './password-hasher.js';

/** OWASP's second choice of argon2id parameters: 19 MiB, two iterations; about 25 ms of CPU time. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Earlier versions prefixed hashes with selected salts. */
const retiredPrefix = /^sieve=5(?=\$)/;

// The priority is below the threads that serve visitors, but high enough to make progress on a busy machine.
lowerThreadPriority(constants.priority.PRIORITY_BELOW_NORMAL);
serveCalls<HashingThread>({
  hash: (password) => Promise.resolve(hashSync(password, cost)),
  verify: (hash, password) =>
    Promise.resolve(verifySync(hash.replace(retiredPrefix, ''), password)),
});
