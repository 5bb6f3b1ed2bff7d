import { expect } from 'chai';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { EventLoopQueue } from './event-loop-queue.js';

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
