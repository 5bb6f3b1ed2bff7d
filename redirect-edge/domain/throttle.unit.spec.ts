import { expect } from 'chai';
import { forgetAfterMs, retryAfterSeconds, steps } from './throttle.js';

describe('the steps of the throttle', () => {
  it('are five tries without a wait, then waits that grow to 30 s', () => {
    expect(steps.map(({ waitMs }) => waitMs / 1_000)).to.deep.equal([0, 0, 0, 0, 0, 10, 20, 30]);
  });

  it('hold no more tries at once than may be wrong, and always one', () => {
    expect(steps.map(({ tries }) => tries)).to.deep.equal([5, 4, 3, 2, 1, 1, 1, 1]);
  });

  it('are not forgotten within a wait, which would end it early', () => {
    for (const { waitMs } of steps) expect(waitMs).to.be.below(forgetAfterMs);
  });

  /** Wrong tries within the first `seconds` of who tries at every chance. */
  const wrongWithin = (seconds: number): number => {
    let at = 0;
    let wrong = 0;
    for (;;) {
      at += (steps[wrong] ?? steps.at(-1))?.waitMs ?? 0;
      if (at >= seconds * 1_000) return wrong;
      wrong += 1;
    }
  };

  it('leave who never gives up two tries a minute', () => {
    expect(wrongWithin(1)).to.equal(5);
    expect(wrongWithin(60)).to.equal(7);
    expect(wrongWithin(3_600)).to.equal(7 + 59 * 2);
  });
});

describe('Retry-After', () => {
  it('is in whole seconds, never too early and never 0', () => {
    const cases = [
      [0.2, 1],
      [1_000, 1],
      [1_001, 2],
      [29_999.9, 30],
      [30_000, 30],
    ] as const;
    for (const [ms, seconds] of cases) expect(retryAfterSeconds(ms)).to.equal(seconds);
  });
});
