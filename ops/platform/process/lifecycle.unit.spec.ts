import { expect } from 'chai';
import { rejection } from '../../test/support/waiting.js';
import { never } from '../concurrency/deferred.js';
import { withVirtualTime } from '../concurrency/testing/virtual-time.js';
import { createLogger } from '../logging.js';
import { startInOrder, startOrStop } from './lifecycle.js';

const logger = createLogger('silent');

describe('platform: start in order', () => {
  let stopped: string[];

  beforeEach(() => {
    stopped = [];
  });

  /** Registers three parts; the stop of the second one fails. */
  const startParts = (register: (stop: () => Promise<void>) => void): void => {
    for (const part of ['first', 'second', 'third']) {
      register(() => {
        stopped.push(part);
        return part === 'second' ? Promise.reject(new Error('stop failed')) : Promise.resolve();
      });
    }
  };

  for (const start of [startInOrder<object>, startOrStop<object>]) {
    it(`stops the started parts in reverse order when a later part fails (${start.name})`, async () => {
      const failure = new Error('start failed');
      const starting = start(logger, (register) => {
        startParts(register);
        return Promise.reject(failure);
      });
      expect(await rejection(starting)).to.equal(failure);
      expect(stopped).to.deep.equal(['third', 'second', 'first']);
    });
  }

  it('stops all parts in reverse order, once, though the stop of one fails', async () => {
    const started = await startInOrder(logger, (onStop) => {
      startParts(onStop);
      return Promise.resolve({ name: 'service' });
    });
    expect(started.name).to.equal('service');
    expect(stopped).to.deep.equal([]);
    await started.stop();
    await started.stop();
    expect(stopped).to.deep.equal(['third', 'second', 'first']);
  });

  it('stops the other parts though the stop of one hangs', () =>
    withVirtualTime(async (advance) => {
      const started = await startInOrder(logger, (onStop) => {
        startParts(onStop);
        onStop(() => never);
        return Promise.resolve({});
      });
      const stopping = started.stop();
      await advance(7_000);
      await stopping;
      expect(stopped).to.deep.equal(['third', 'second', 'first']);
    }));

  it('leaves the parts running after a start that succeeded (startOrStop)', async () => {
    await startOrStop(logger, (onFailure) => {
      startParts(onFailure);
      return Promise.resolve();
    });
    expect(stopped).to.deep.equal([]);
  });
});
