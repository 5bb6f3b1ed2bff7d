import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  checkDeadlines,
  noTolerance,
  watchOwnDelays,
  type Frozen,
  type Timed,
} from './deadlines.js';

describe('chaos: deadlines of responses', () => {
  const response = (kind: Timed['kind'], ms: number, node = 'a'): Timed => ({
    ...{ kind, node, ms, from: 10_000, to: 10_000 + ms },
  });
  const findLate = (
    responses: readonly Timed[],
    conditions: Partial<Parameters<typeof checkDeadlines>[1]>,
  ) => checkDeadlines(responses, { frozen: [], tolerance: noTolerance, ...conditions }).late;
  const frozen = (nodes: readonly string[]): Frozen => ({ nodes, from: 9_000, to: 10_100 });

  it('differ by kind', () => {
    const inTime = [response('API', 2_000), response('edge', 2_000), response('cached link', 500)];
    expect(findLate(inTime, {})).to.deep.equal([]);
    const late = inTime.map((timed) => ({ ...timed, ms: timed.ms + 1 }));
    expect(findLate(late, {})).to.have.length(3);
    expect(findLate(late, { tolerance: { API: 1, edge: 1, 'cached link': 1 } })).to.deep.equal([]);
  });

  it('report the longest response time of each kind', () => {
    const responses = [response('API', 5), response('API', 7), response('edge', 3)];
    const { worst } = checkDeadlines(responses, { frozen: [], tolerance: noTolerance });
    expect(worst).to.deep.equal({ API: 7, edge: 3, 'cached link': 0 });
  });

  it('are 3 s while another node is frozen, except for cached links', () => {
    const responses = [
      response('API', 2_900),
      response('edge', 2_900),
      response('cached link', 600),
    ];
    expect(findLate(responses, { frozen: [frozen(['b'])] })).to.deep.equal([
      'cached link: 600 ms, deadline 500 ms',
    ]);
  });

  it('ignore responses of the frozen node', () => {
    expect(findLate([response('API', 9_000)], { frozen: [frozen(['a'])] })).to.deep.equal([]);
  });

  it('measure how long the event loop of this process was blocked', async () => {
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
