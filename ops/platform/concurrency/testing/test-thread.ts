import { ConfigError } from '../../errors.js';
import { serveCalls } from '../thread.js';
import { never } from '../deferred.js';

class OwnError extends Error {
  readonly code = 'OWN';
}

export interface TestThread {
  sum(numbers: readonly number[], more: ReadonlyMap<string, number>): Promise<number>;
  refuse(message: string): Promise<void>;
  misconfigured(): Promise<void>;
  wait(): Promise<never>;
  returnFunction(): Promise<() => void>;
  crash(message: string): Promise<void>;
}

serveCalls<TestThread>({
  sum: (numbers, more) =>
    Promise.resolve([...numbers, ...more.values()].reduce((sum, number) => sum + number, 0)),
  refuse: (message) =>
    Promise.reject(new OwnError(message, { cause: new TypeError('why', { cause: null }) })),
  misconfigured: () => Promise.reject(new ConfigError('EVENTSTORE_URL: wrong')),
  wait: () => never,
  returnFunction: () => Promise.resolve(() => undefined),
  crash(message) {
    setImmediate(() => {
      throw new OwnError(message);
    });
    return Promise.resolve();
  },
});
