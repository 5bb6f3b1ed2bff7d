import { expect } from 'chai';
import { rejection } from '../../test/support/waiting.js';
import { deferred, firstFailure } from './deferred.js';

describe('platform: first failure', () => {
  it('rejects with the first rejection', async () => {
    const [first, second, third] = [deferred(), deferred(), deferred()];
    const failed = firstFailure([first.promise, second.promise, third.promise]);
    first.resolve();
    second.reject(new Error('second'));
    third.reject(new Error('third'));
    expect(await rejection(failed)).to.have.property('message', 'second');
  });

  it('does not end the process if it is not awaited', async () => {
    const broken = deferred();
    void firstFailure([broken.promise]);
    broken.reject(new Error('not awaited'));
    await new Promise(setImmediate);
  });
});
