import { expect } from 'chai';
import { FailedTries } from './failed-tries.js';

describe('redirect edge: failed password tries', () => {
  it('are counted by name, and forgotten ten minutes after the last one', () => {
    let now = 1_000;
    const failed = new FailedTries(() => now);
    failed.note(['198.51.100.7', '198.51.100']);
    now += 599_999;
    failed.note(['198.51.100.8', '198.51.100']);
    const counts = (): number[] =>
      ['198.51.100.7', '198.51.100.8', '198.51.100', '198.51'].map((name) => failed.of(name));
    expect(counts()).to.deep.equal([1, 1, 2, 0]);
    now += 1;
    expect(counts()).to.deep.equal([0, 1, 2, 0]);
    now += 599_999;
    expect(counts()).to.deep.equal([0, 0, 0, 0]);
    failed.note(['198.51.100']);
    expect(failed.of('198.51.100')).to.equal(1);
  });
});
