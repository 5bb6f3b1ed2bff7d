import { expect } from 'chai';
import { pino } from 'pino';
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

  /** Returns the lines of an outage log. */
  const lines: (readonly [message: string, fields: object])[] = [];
  const open = () => {
    lines.length = 0;
    const logger = pino(
      { base: null, timestamp: false },
      {
        write(line: string) {
          const { level, msg, ...fields } = JSON.parse(line) as { level: number; msg: string };
          lines.push([`${level} ${msg}`, fields]);
        },
      },
    );
    return createOutageLog(logger, 'down', 'up');
  };
  const messages = () => lines.map(([message]) => message);

  it('has one line with a stack, one a minute without it, and one at the end of all parts', () =>
    withVirtualTime(async (advance) => {
      const outage = open();
      outage.recovered('a');
      for (let second = 0; second < 130; second += 5) {
        outage.failed(failure, second % 10 === 0 ? 'a' : 'b');
        await advance(5_000);
      }
      outage.recovered('b');
      expect(messages()).to.deep.equal(['40 down', '40 down', '40 down']);
      outage.recovered('a');
      expect(JSON.stringify(lines).match(/stack/g)).to.have.lengthOf(1);
      expect(lines.slice(1)).to.deep.equal([
        ...[60, 120].map((seconds) => [
          '40 down',
          {
            part: 'a',
            failure: { type: 'Error', message: 'refused' },
            seconds,
            failures: seconds / 5 + 1,
          },
        ]),
        ['30 up', { seconds: 130, failures: 26 }],
      ]);
      outage.failed(failure);
      expect(lines.at(-1)?.[1]).to.have.property('err');
    }));

  it('ends without a part that another reader has taken, and whose last failure was a minute ago', () =>
    withVirtualTime(async (advance) => {
      const outage = open();
      outage.failed(failure, 'taken');
      await advance(30_000);
      outage.failed(failure, 'own');
      outage.recovered('own');
      expect(messages()).to.deep.equal(['40 down']);
      await advance(40_000);
      outage.recovered('own');
      expect(messages()).to.deep.equal(['40 down', '30 up']);
    }));
});
