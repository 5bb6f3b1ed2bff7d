/** A thread that fails after it has hashed a password, and exits before if the password is `exit`. */
import { serveCalls } from '../../concurrency/thread.js';
import type { HashingThread } from '../password-hasher.js';

serveCalls<Pick<HashingThread, 'hash'>>({
  hash(bytes) {
    const password = Buffer.from(bytes).toString();
    if (password === 'exit') process.exit(3);
    setImmediate(() => {
      throw new Error('the idle thread fails');
    });
    return Promise.resolve(password);
  },
});
