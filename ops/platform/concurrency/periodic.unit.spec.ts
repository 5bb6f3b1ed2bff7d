import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, endsWithin } from '../../test/support/waiting.js';
import { createLogger } from '../logging.js';
import { periodically } from './periodic.js';
import { deferred } from './deferred.js';

const logger = createLogger('silent');
const never = 3_600_000;

describe('platform: periodic task', () => {
  it('runs immediately, and again while there is work', async () => {
    const work = [3, 2, 1, 0];
    let runs = 0;
    const task = periodically({
      name: 'test',
      everyMs: never,
      logger,
      task: () => {
        runs += 1;
        return Promise.resolve(work.shift() ?? 0);
      },
    });
    await eventually('all work is done', () => runs === 4);
    await task.stop();
    expect(runs).to.equal(4);
  });

  it('runs again later without work, and after a failure', async () => {
    let runs = 0;
    const task = periodically({
      name: 'test',
      everyMs: 5,
      logger,
      task: () => {
        runs += 1;
        return runs % 2 === 0 ? Promise.reject(new Error('Not now')) : Promise.resolve(0);
      },
    });
    await eventually('it runs again', () => runs >= 5);
    await task.stop();
  });

  it('continues after a task that throws synchronously', async () => {
    let runs = 0;
    const task = periodically({
      name: 'test',
      everyMs: 5,
      logger,
      task: () => {
        runs += 1;
        throw new Error('Not now');
      },
    });
    await eventually('it runs again', () => runs >= 2);
    await task.stop();
  });

  it('never runs concurrently; stop waits for the run, and no other run follows', async () => {
    const gate = deferred();
    let runs = 0;
    let ended = 0;
    const task = periodically({
      name: 'test',
      everyMs: 1,
      logger,
      task: async () => {
        runs += 1;
        await gate.promise;
        ended += 1;
        return 1;
      },
    });
    await eventually('it runs', () => runs === 1);
    const stopped = task.stop();
    expect(await endsWithin(stopped, 30)).to.be.false;
    gate.resolve();
    await stopped;
    expect([runs, ended]).to.deep.equal([1, 1]);
    await sleep(30);
    expect(runs).to.equal(1);
  });
});
