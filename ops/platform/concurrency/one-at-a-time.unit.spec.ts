import { expect } from 'chai';
import { rejection } from '../../test/support/waiting.js';
import { deferred } from './deferred.js';
import { oneAtATime } from './one-at-a-time.js';

describe('concurrency: one at a time', () => {
  it('runs each piece of work when those before it are done, whether they failed or not', async () => {
    const turn = oneAtATime();
    const gate = deferred<string>();
    const begun: number[] = [];
    const first = turn(() => {
      begun.push(1);
      return gate.promise;
    });
    const second = rejection(
      turn(() => {
        begun.push(2);
        return Promise.reject(new Error('No'));
      }),
    );
    const third = turn(() => {
      begun.push(3);
      return Promise.resolve('third');
    });
    await new Promise(setImmediate);
    expect(begun).to.deep.equal([1]);
    gate.resolve('first');
    expect(await first).to.equal('first');
    expect(await second).to.have.property('message', 'No');
    expect(await third).to.equal('third');
    expect(begun).to.deep.equal([1, 2, 3]);
  });
});
