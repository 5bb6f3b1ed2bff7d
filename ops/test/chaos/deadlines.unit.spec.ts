import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  checkDeadlines,
  noTolerance,
  watchOwnDelays,
  type Frozen,
  type Timed,
} from './deadlines.js';

describe('chaos: deadlines of answers', () => {
  const answer = (kind: Timed['kind'], ms: number, node = 'a'): Timed => ({
    ...{ kind, node, ms, from: 10_000, to: 10_000 + ms },
  });
  const lateOf = (answers: readonly Timed[], seen: Partial<Parameters<typeof checkDeadlines>[1]>) =>
    checkDeadlines(answers, { frozen: [], tolerance: noTolerance, ...seen }).late;
  const frozen = (nodes: readonly string[]): Frozen => ({ nodes, from: 9_000, to: 10_100 });

  it('has one for each kind', () => {
    const inTime = [answer('API', 2_000), answer('edge', 2_000), answer('cached link', 500)];
    expect(lateOf(inTime, {})).to.deep.equal([]);
    const late = inTime.map((one) => ({ ...one, ms: one.ms + 1 }));
    expect(lateOf(late, {})).to.have.length(3);
    expect(lateOf(late, { tolerance: { API: 1, edge: 1, 'cached link': 1 } })).to.deep.equal([]);
  });

  it('says the worst', () => {
    const answers = [answer('API', 5), answer('API', 7), answer('edge', 3)];
    const { worst } = checkDeadlines(answers, { frozen: [], tolerance: noTolerance });
    expect(worst).to.deep.equal({ API: 7, edge: 3, 'cached link': 0 });
  });

  it('grants 3 s while another node is frozen, but to no warm link', () => {
    const answers = [answer('API', 2_900), answer('edge', 2_900), answer('cached link', 600)];
    expect(lateOf(answers, { frozen: [frozen(['b'])] })).to.deep.equal([
      'cached link: 600 ms, at most 500 ms are due',
    ]);
  });

  it('does not count answers of the frozen node itself', () => {
    expect(lateOf([answer('API', 9_000)], { frozen: [frozen(['a'])] })).to.deep.equal([]);
  });

  it('knows how long this process was too busy to hear an answer', async () => {
    const own = watchOwnDelays();
    try {
      const from = performance.now();
      while (performance.now() - from < 100);
      await sleep(50);
      expect(own.within({ from, to: from + 100 })).to.be.within(50, 100);
      expect(own.within({ from: from - 1_000, to: from - 500 })).to.equal(0);
    } finally {
      own.stop();
    }
  });
});
