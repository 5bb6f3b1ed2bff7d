import { expect } from 'chai';
import { setImmediate as tick } from 'node:timers/promises';
import { rejection } from '../../test/support/waiting.js';
import { ConfigError } from '../process/config-error.js';
import type { TestThread } from './testing/test-thread.js';
import { startThread, type Thread } from './thread.js';

const program = new URL('testing/test-thread.js', import.meta.url);

describe('platform: a worker thread', () => {
  let thread: Thread<TestThread>;

  beforeEach(() => {
    thread = startThread<TestThread>(program);
  });
  afterEach(() => thread.terminate());

  it('serves concurrent calls', async () => {
    const sums = [1, 2, 3].map((number) =>
      thread.call('sum', [number, 10], new Map([['more', 100]])),
    );
    expect(await Promise.all(sums)).to.deep.equal([111, 112, 113]);
  });

  it('rejects with the message, code, stack and cause of an error', async () => {
    const error = (await rejection(thread.call('refuse', 'not today'))) as Error;
    expect(error).to.be.instanceOf(Error).and.include({ message: 'not today', code: 'OWN' });
    expect(error.stack).to.include('test-thread');
    expect(error.cause).to.include({ name: 'TypeError', message: 'why' });
    expect(await thread.call('sum', [1], new Map())).to.equal(1);
  });

  it('rejects with a ConfigError if the method does', async () => {
    expect(await rejection(thread.call('misconfigured')))
      .to.be.instanceOf(ConfigError)
      .with.property('message', 'EVENTSTORE_URL: wrong');
  });

  it('rejects every call, also later ones, with an uncaught error of the thread', async () => {
    const waiting = rejection(thread.call('wait'));
    await thread.call('crash', 'uncaught');
    for (const error of [await waiting, await thread.ended, await rejection(thread.call('wait'))]) {
      expect(error).to.include({ message: 'uncaught', code: 'OWN' });
    }
  });

  it('does not keep a call whose arguments cannot be cloned', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => {
      unhandled.push(reason);
    };
    process.on('unhandledRejection', note);
    try {
      const uncloneable = (() => 1) as unknown as number;
      const error = await rejection(thread.call('sum', [uncloneable], new Map()));
      expect(error).to.have.property('name', 'DataCloneError');
      expect(await thread.call('sum', [1], new Map())).to.equal(1);
      // The end of the thread rejects every call that it still keeps.
      await thread.terminate();
      await tick();
      expect(unhandled).to.deep.equal([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('rejects a call whose result cannot be cloned, and no other', async () => {
    const waiting = rejection(thread.call('wait'));
    const error = (await rejection(thread.call('returnFunction'))) as Error;
    expect(error).to.have.property('name', 'DataCloneError');
    expect(await thread.call('sum', [1], new Map())).to.equal(1);
    await thread.terminate();
    expect(await waiting)
      .to.have.property('message')
      .that.includes('ended with code');
  });

  it('rejects every call when it is terminated', async () => {
    const waiting = rejection(thread.call('wait'));
    await thread.terminate();
    for (const error of [await waiting, await rejection(thread.call('wait'))]) {
      expect(error)
        .to.be.instanceOf(Error)
        .with.property('message')
        .that.includes('ended with code');
    }
  });
});
