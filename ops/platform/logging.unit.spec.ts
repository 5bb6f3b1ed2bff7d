import { expect } from 'chai';
import { collectLogLines } from '../test/support/log-lines.js';
import { withVirtualTime } from './concurrency/testing/virtual-time.js';
import { createFloodLog, createOutageLog } from './logging.js';

describe('platform: log of frequent events', () => {
  it('logs the first events of each period, and counts the omitted ones', () => {
    const flood = createFloodLog(100, 2);
    const counts = [0, 1, 2, 99, 100, 101, 102, 250].map(flood);
    expect(counts).to.deep.equal([0, 0, null, null, 2, 0, null, 1]);
  });
});

describe('platform: log of an outage', () => {
  const failure = new Error('refused');
  const open = () => {
    const { logger, lines } = collectLogLines();
    const ends: object[] = [];
    return { lines, ends, ...createOutageLog(logger, 'down', (ended) => ends.push(ended)) };
  };

  it('has one line with a stack, one a minute without it, and one end of all parts', () =>
    withVirtualTime(async (advance) => {
      const { lines, ends, failed, recovered } = open();
      recovered('a');
      for (let second = 0; second < 130; second += 5) {
        failed(failure, second % 10 === 0 ? 'a' : 'b');
        await advance(5_000);
      }
      recovered('b');
      expect(ends).to.deep.equal([]);
      recovered('a');
      expect(ends).to.deep.equal([{ seconds: 130, failures: 26 }]);
      expect(JSON.stringify(lines).match(/"stack"/g)).to.have.lengthOf(1);
      expect(lines.map(({ msg, seconds, failures }) => [msg, seconds, failures])).to.deep.equal([
        ['down', undefined, undefined],
        ['down', 60, 13],
        ['down', 120, 25],
      ]);
      expect(lines.at(-1)).to.deep.include({
        part: 'a',
        failure: { type: 'Error', message: 'refused' },
      });
      failed(failure);
      expect(lines.at(-1)).to.have.property('err');
    }));

  it('ends without a part that another reader has taken, and whose last failure was a minute ago', () =>
    withVirtualTime(async (advance) => {
      const { ends, failed, recovered } = open();
      failed(failure, 'taken');
      await advance(30_000);
      failed(failure, 'own');
      recovered('own');
      expect(ends).to.deep.equal([]);
      await advance(40_000);
      recovered('own');
      expect(ends).to.have.lengthOf(1);
    }));
});
