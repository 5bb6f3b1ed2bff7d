import { expect } from 'chai';
import { setImmediate as nextTick } from 'node:timers/promises';
import { rejection } from '../../test/support/waiting.js';
import { concurrently } from './concurrently.js';
import { deferred } from './deferred.js';

describe('platform: work done concurrently', () => {
  it('runs for every item, with limited concurrency', async () => {
    const done: number[] = [];
    let [running, most] = [0, 0];
    await concurrently([1, 2, 3, 4, 5], { concurrency: 2 }, async (item) => {
      running += 1;
      most = Math.max(most, running);
      await nextTick();
      running -= 1;
      done.push(item);
    });
    expect(done).to.deep.equal([1, 2, 3, 4, 5]);
    expect(most).to.equal(2);
  });

  it('ends with the first failure, after the started work has ended', async () => {
    const gate = deferred();
    const begun: number[] = [];
    let reason: unknown;
    const failed = rejection(
      concurrently([1, 2, 3], { concurrency: 2 }, async (item, ending) => {
        begun.push(item);
        if (item === 2) throw new Error('the second');
        await gate.promise;
        reason = ending.reason;
        throw new Error('the first, later');
      }),
    );
    await nextTick();
    gate.resolve();
    expect(await failed).to.have.property('message', 'the second');
    expect(begun).to.deep.equal([1, 2]);
    expect(reason).to.have.property('message', 'the second');
  });

  it('ends with the signal, also if it was aborted before', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const begun: number[] = [];
    const reason = new Error('enough');
    const ended = rejection(
      concurrently([1, 2], { concurrency: 1, signal }, async (item) => {
        begun.push(item);
        controller.abort(reason);
        await nextTick();
      }),
    );
    expect(await ended).to.equal(reason);
    expect(begun).to.deep.equal([1]);
    const again = concurrently([1], { concurrency: 1, signal }, () => Promise.resolve());
    expect(await rejection(again)).to.equal(reason);
  });
});
