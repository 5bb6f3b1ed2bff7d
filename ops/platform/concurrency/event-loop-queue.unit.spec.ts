import { expect } from 'chai';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { EventLoopQueue } from './event-loop-queue.js';

describe('event-loop queue', () => {
  it('runs one callback in each iteration of the event loop, in order', async () => {
    const queue = new EventLoopQueue();
    const ran: string[] = [];
    for (const name of ['first', 'second', 'third']) queue.add(() => ran.push(name));

    expect(ran).to.deep.equal([]);
    await nextIteration();
    expect(ran).to.deep.equal(['first']);
    await nextIteration();
    expect(ran).to.deep.equal(['first', 'second']);
    await nextIteration();
    expect(ran).to.deep.equal(['first', 'second', 'third']);
  });

  it('runs a callback that another one adds in a later iteration', async () => {
    const queue = new EventLoopQueue();
    const ran: string[] = [];
    queue.add(() => {
      ran.push('first');
      queue.add(() => ran.push('second'));
    });

    await nextIteration();
    expect(ran).to.deep.equal(['first']);
    await nextIteration();
    expect(ran).to.deep.equal(['first', 'second']);
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
