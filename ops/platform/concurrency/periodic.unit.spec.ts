import { expect } from 'chai';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { eventually } from '../../test/support/waiting.js';
import { createLogger } from '../logging.js';
import { deferred } from './deferred.js';
import { DutyCycle, EventLoopQueue, periodically } from './periodic.js';
import { withVirtualTime } from './testing/virtual-time.js';

describe('platform: periodic task', () => {
  const everyMs = 1_000;

  /** A periodic task whose runs have these outcomes, the last one again and again. */
  const start = (...outcomes: readonly (() => Promise<number>)[]) => {
    const count = { runs: 0 };
    const task = periodically({
      name: 'test',
      everyMs,
      logger: createLogger('silent'),
      task: () => {
        count.runs += 1;
        return (outcomes[count.runs - 1] ?? outcomes.at(-1))?.() ?? Promise.resolve(0);
      },
    });
    return { count, stop: () => task.stop() };
  };
  const done = (work: number) => () => Promise.resolve(work);

  it('runs immediately, again while there is work, and periodically without work', () =>
    withVirtualTime(async (advance) => {
      const { count, stop } = start(done(3), done(2), done(1), done(0));
      await advance(0);
      await eventually('all work is done', () => count.runs === 4);
      await advance(2 * everyMs);
      expect(count.runs).to.equal(6);
      await stop();
      expect(await advance(0), 'pending timers').to.equal(0);
    }));

  it('continues after a failure, and after a task that throws synchronously', () =>
    withVirtualTime(async (advance) => {
      const { count, stop } = start(
        () => Promise.reject(new Error('Not now')),
        () => {
          throw new Error('Not now');
        },
        done(0),
      );
      await advance(2.5 * everyMs);
      expect(count.runs).to.equal(3);
      await stop();
    }));

  it('never runs concurrently; stop waits for the run, and no other run follows', () =>
    withVirtualTime(async (advance) => {
      const gate = deferred();
      let stopped = false;
      const { count, stop } = start(() => gate.promise.then(() => 1));
      await advance(5 * everyMs);
      const stopping = stop().then(() => {
        stopped = true;
      });
      await advance(everyMs);
      expect({ ...count, stopped }).to.deep.equal({ runs: 1, stopped: false });
      gate.resolve();
      await stopping;
      expect(await advance(5 * everyMs), 'pending timers').to.equal(0);
      expect(count.runs).to.equal(1);
    }));
});

const work = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

describe('concurrency: duty cycle', () => {
  it('ends its pauses in a process that is always busy', async () => {
    const dutyCycle = new DutyCycle(new AbortController().signal);
    let stopped = false;
    const keepBusy = (): void => {
      work(1);
      if (!stopped) setImmediate(keepBusy);
    };
    keepBusy();
    for (let piece = 0; piece < 3; piece += 1) {
      work(1);
      await dutyCycle.pause();
    }
    stopped = true;
  });

  it('ends a pause when the signal is aborted', async () => {
    const stopping = new AbortController();
    const dutyCycle = new DutyCycle(stopping.signal);
    work(20);
    const pause = dutyCycle.pause();
    stopping.abort();
    await pause;
    await dutyCycle.pause();
    expect(stopping.signal.aborted).to.be.true;
  });
});

describe('event-loop queue', () => {
  it('runs one callback in each iteration of the event loop, in order', async () => {
    const queue = new EventLoopQueue();
    const ran: number[] = [];
    queue.add(() => {
      ran.push(1);
      queue.add(() => ran.push(3));
    });
    queue.add(() => ran.push(2));
    for (const expected of [[], [1], [1, 2], [1, 2, 3]]) {
      expect(ran).to.deep.equal(expected);
      await nextIteration();
    }
  });

  it('runs later callbacks after an error', async () => {
    const queue = new EventLoopQueue();
    const ran: string[] = [];
    const errors: unknown[] = [];
    const listeners = process.listeners('uncaughtException');
    process
      .removeAllListeners('uncaughtException')
      .once('uncaughtException', (e) => errors.push(e));
    queue.add(() => {
      throw new Error('broken');
    });
    queue.add(() => ran.push('second'));

    await nextIteration();
    await nextIteration();
    for (const listener of listeners) process.on('uncaughtException', listener);
    expect(errors).to.have.lengthOf(1);
    expect(ran).to.deep.equal(['second']);
  });
});
