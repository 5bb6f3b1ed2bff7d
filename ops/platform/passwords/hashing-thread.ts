import { hashSync, verifySync } from '@node-rs/argon2';
import { constants } from 'node:os';
import { lowerThreadPriority } from '../concurrency/thread-priority.js';
import { answerCalls } from '../concurrency/thread.js';
import { bytesOf } from './password-bytes.js';
import type { HashingThread } from './password-hasher.js';

/** argon2id with OWASP's second choice of parameters: 19 MiB, two iterations; about 25 ms of a core. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Earlier versions put this before the argon2id text, for salts that they had selected. */
const retiredPrefix = /^sieve=5(?=\$)/;

// Those that answer visitors go first, yet hashes do not starve on a busy machine.
lowerThreadPriority(constants.priority.PRIORITY_BELOW_NORMAL);
answerCalls<HashingThread>({
  hash: (password) => Promise.resolve(hashSync(bytesOf(password), cost)),
  verify: (hash, password) =>
    Promise.resolve(verifySync(hash.replace(retiredPrefix, ''), bytesOf(password))),
});
