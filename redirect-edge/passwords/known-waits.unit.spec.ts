import { expect } from 'chai';
import { KnownWaits } from './password-check.js';

describe('redirect edge: known waits', () => {
  it('give what is left of each, and forget it at its end', () => {
    let now = 1_000;
    const waits = new KnownWaits(() => now);
    waits.note('one', 60_000);
    now += 20_000;
    waits.note('other', 5_000);
    expect([waits.left('one'), waits.left('other'), waits.left('third')]).to.deep.equal([
      40_000, 5_000, 0,
    ]);
    now += 5_000;
    expect([waits.left('one'), waits.left('other')]).to.deep.equal([35_000, 0]);
    now += 40_000;
    expect(waits.left('one')).to.equal(0);
  });

  it('are bounded: with too many, the earlier ones are forgotten', () => {
    const waits = new KnownWaits(() => 0);
    for (let number = 0; number <= 10_000; number += 1) waits.note(`${number}`, 1_000);
    expect([waits.left('0'), waits.left('10000')]).to.deep.equal([0, 1_000]);
  });
});
