import { expect } from 'chai';
import { setImmediate as tick } from 'node:timers/promises';
import { rejection } from '../../test/support/waiting.js';
import { ConfigError } from '../errors.js';
import type { TestThread } from './testing/test-thread.js';
import { startThread, type Thread } from './thread.js';

const program = new URL('testing/test-thread.js', import.meta.url);

describe('platform: a worker thread', () => {
  /** Shared by tests that do not end it. */
  let thread: Thread<TestThread>;
  before(() => {
    thread = startThread<TestThread>(program);
  });
  after(() => thread.terminate());

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

  it('rejects a call whose arguments or result cannot be cloned, and no other', async () => {
    const uncloneable = (() => 1) as unknown as number;
    for (const failed of [
      () => thread.call('sum', [uncloneable], new Map()),
      () => thread.call('returnFunction'),
    ]) {
      expect(await rejection(failed())).to.have.property('name', 'DataCloneError');
      expect(await thread.call('sum', [1], new Map())).to.equal(1);
    }
  });

  it('rejects every call, also later ones, with an uncaught error of the thread', async () => {
    const own = startThread<TestThread>(program);
    const waiting = rejection(own.call('wait'));
    await own.call('crash', 'uncaught');
    for (const error of [await waiting, await own.ended, await rejection(own.call('wait'))]) {
      expect(error).to.include({ message: 'uncaught', code: 'OWN' });
    }
  });

  it('rejects every call when it is terminated, except those that were never sent', async () => {
    const own = startThread<TestThread>(program);
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const uncloneable = (() => 1) as unknown as number;
      await rejection(own.call('sum', [uncloneable], new Map()));
      const waiting = rejection(own.call('wait'));
      await own.terminate();
      for (const error of [await waiting, await rejection(own.call('wait'))]) {
        expect((error as Error).message).to.include('ended with code');
      }
      await tick();
      expect(unhandled).to.deep.equal([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });
});
