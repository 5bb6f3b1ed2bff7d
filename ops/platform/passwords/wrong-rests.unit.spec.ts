import { expect } from 'chai';
import { WrongRests } from './password-hasher.js';

describe('platform: rests after wrong passwords', () => {
  const wrong = (rests: WrongRests, times: number): readonly number[] =>
    Array.from({ length: times }, () => rests.after('a', false));

  it('grow with each wrong one in a row, up to 300 ms', () => {
    const rests = new WrongRests();
    expect(wrong(rests, 4)).to.deep.equal([25, 50, 75, 100]);
    expect(wrong(rests, 100).at(-1)).to.equal(300);
  });

  it('begin anew after a right one', () => {
    const rests = new WrongRests();
    wrong(rests, 50);
    expect([true, false, true, false].map((right) => rests.after('a', right))).to.deep.equal([
      0, 25, 0, 25,
    ]);
  });

  it('are each link’s own', () => {
    const rests = new WrongRests();
    wrong(rests, 50);
    expect(rests.after('b', false)).to.equal(25);
    expect(rests.after('a', false)).to.equal(300);
  });

  it('are kept for so many links at most', () => {
    const rests = new WrongRests();
    for (let n = 0; n < 9_999; n += 1) rests.after(`link ${n}`, false);
    expect(rests.after('link 0', false)).to.equal(50);
    rests.after('one', false);
    rests.after('too many', false);
    expect(rests.after('link 0', false)).to.equal(25);
  });
});
