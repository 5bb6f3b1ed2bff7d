import { expect } from 'chai';
import { collectLogLines } from '../../test/support/log-lines.js';
import { rejection } from '../../test/support/waiting.js';
import { deferred } from '../concurrency/deferred.js';
import { withVirtualTime } from '../concurrency/testing/virtual-time.js';
import { createLogger } from '../logging.js';
import { Silence } from './silence.js';

describe('platform: silence of PostgreSQL', () => {
  const silence = new Silence(createLogger('silent'));

  it('starts when a response is late, and ends with the next one', () =>
    withVirtualTime(async (advance) => {
      const late = deferred<string>();
      const watched = silence.watch(late.promise);
      await advance(699);
      expect(silence.isSilent).to.be.false;
      await advance(1);
      expect(silence.isSilent).to.be.true;
      late.resolve('SELECT');
      expect(await watched).to.equal('SELECT');
      expect(silence.isSilent).to.be.false;
    }));

  it('does not start if the response arrived while the process was busy', () =>
    withVirtualTime(async (advance) => {
      const { logger, lines } = collectLogLines();
      const response = deferred<string>();
      const watched = new Silence(logger).watch(response.promise);
      const advancing = advance(700);
      // In the iteration of the event loop in which the timer is due, after it.
      setImmediate(() => setImmediate(response.resolve, 'SELECT'));
      await advancing;
      await watched;
      expect(lines).to.deep.equal([]);
    }));

  it('does not start with a lost connection, but if none can be made', async () => {
    const lost = new Error('Connection terminated');
    expect(await rejection(silence.watch(Promise.reject(lost)))).to.equal(lost);
    expect(silence.isSilent).to.be.false;
    silence.begin();
    expect(silence.isSilent).to.be.true;
    await silence.watch(Promise.resolve());
    expect(silence.isSilent).to.be.false;
  });
});
