/** Acquires an advisory lock and reports it on stdout: `node lock-process.js URL LOCK`. */
import { once } from 'node:events';
import { createLogger } from '../../logging.js';
import { holdLock } from '../own-connection.js';

const [, , url = '', lock = ''] = process.argv;

holdLock({
  url,
  lock: [Number(lock)],
  name: 'test',
  logger: createLogger('silent'),
  async work(signal) {
    process.stdout.write('begins\n');
    if (!signal.aborted) await once(signal, 'abort');
    process.stdout.write('ends\n');
  },
});
