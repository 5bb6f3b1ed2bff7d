import { expect } from 'chai';
import { setImmediate as nextTick } from 'node:timers/promises';
import { endsWithin, rejection } from '../../test/support/waiting.js';
import {
  coalesce,
  concurrently,
  deferred,
  firstFailure,
  WakeUp,
  type Deferred,
} from './deferred.js';

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

describe('platform: wake-up', () => {
  it('ends a sleep', async () => {
    const wakeUp = new WakeUp();
    const sleeping = wakeUp.sleep(60_000);
    expect(await endsWithin(sleeping, 5)).to.be.false;
    wakeUp.wake();
    await sleeping;
  });

  it('is kept until the next sleep, and counts once', async () => {
    const wakeUp = new WakeUp();
    wakeUp.wake();
    wakeUp.wake();
    await wakeUp.sleep();
    expect(await endsWithin(wakeUp.sleep(), 5)).to.be.false;
  });
});

describe('platform: coalesce', () => {
  let runs: Deferred<string>[];
  let call: () => Promise<string>;

  beforeEach(() => {
    runs = [];
    call = coalesce(() => {
      const run = deferred<string>();
      runs.push(run);
      return run.promise;
    });
  });

  it('shares the next run among the calls during a run', async () => {
    const first = call();
    const others = [call(), call(), call()];
    expect(runs).to.have.length(1);
    runs[0]?.resolve('first');
    expect(await first).to.equal('first');
    await Promise.resolve();
    expect(runs).to.have.length(2);
    const last = call();
    runs[1]?.resolve('second');
    expect(await Promise.all(others)).to.deep.equal(['second', 'second', 'second']);
    await Promise.resolve();
    expect(runs).to.have.length(3);
    runs[2]?.resolve('third');
    expect(await last).to.equal('third');
  });

  it('rejects only the calls of a run that fails', async () => {
    const first = rejection(call());
    const second = call();
    const failure = new Error('failed');
    runs[0]?.reject(failure);
    expect(await first).to.equal(failure);
    await Promise.resolve();
    runs[1]?.resolve('second');
    expect(await second).to.equal('second');
  });

  it('pauses before the run that calls share', async () => {
    let ended = 0;
    const paused = coalesce(async () => {
      const began = performance.now();
      await Promise.resolve();
      return { began, previous: ended, ended: (ended = performance.now()) };
    }, 20);
    const first = await paused();
    const [second, third] = await Promise.all([paused(), paused()]);
    expect(second).to.equal(third);
    expect(second.previous).to.equal(first.ended);
    // A timer may fire a millisecond early.
    expect(second.began - first.ended).to.be.at.least(19);
  });
});

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
