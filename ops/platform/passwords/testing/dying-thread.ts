/** A thread for the spec of hashing. It fails after it has hashed; for the password `exit`, it ends before that. */
import { answerCalls } from '../../concurrency/thread.js';
import type { HashingThread } from '../password-hasher.js';

answerCalls<Pick<HashingThread, 'hash'>>({
  hash(password) {
    if (password === 'exit') process.exit(3);
    setImmediate(() => {
      throw new Error('the idle thread fails');
    });
    return Promise.resolve(password);
  },
});
