import { expect } from 'chai';
import { rejection } from '../../test/support/waiting.js';
import { deferred, firstFailure } from './deferred.js';

describe('platform: first failure', () => {
  it('is that of the promise that fails first, whatever the others do', async () => {
    const [first, second, third] = [deferred(), deferred(), deferred()];
    const failed = firstFailure([first.promise, second.promise, third.promise]);
    first.resolve();
    second.reject(new Error('second'));
    third.reject(new Error('third'));
    expect(await rejection(failed)).to.have.property('message', 'second');
  });

  it('may go unawaited', async () => {
    const broken = deferred();
    void firstFailure([broken.promise]);
    broken.reject(new Error('nobody awaits this'));
    await new Promise(setImmediate);
  });
});
