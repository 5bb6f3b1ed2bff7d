import { expect } from 'chai';
import { rejection } from '../../test/support/waiting.js';
import { coalesce } from './coalesce.js';
import { deferred, type Deferred } from './deferred.js';

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
