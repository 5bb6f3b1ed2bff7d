import { expect } from 'chai';
import { retryAfterSeconds } from './response.js';

describe('redirect edge: Retry-After', () => {
  it('is in whole seconds, rounded up, from 1 to 30', () => {
    const cases = [
      [0, 1],
      [0.2, 1],
      [1_000, 1],
      [1_001, 2],
      [29_000.1, 30],
      [30_000, 30],
      [30_001, 30],
      [60_000, 30],
    ] as const;
    for (const [ms, seconds] of cases) expect(retryAfterSeconds(ms)).to.equal(seconds);
  });

  it('covers any wait of a minute with two waits', () => {
    for (let left = 100; left <= 60_000; left += 100) {
      const first = retryAfterSeconds(left) * 1_000;
      const second = left > first ? retryAfterSeconds(left - first) * 1_000 : 0;
      expect(first + second).to.be.at.least(left);
    }
  });
});
