import { expect } from 'chai';
import { GuessThrottle } from './guesses.js';

describe('command API: throttle of guesses', () => {
  const guess = (throttle: GuessThrottle, network: string, now: number, times: number): void => {
    for (let wrong = 0; wrong < times; wrong += 1) throttle.countWrong(network, now);
  };

  it('throttles a network after ten wrong guesses, until a minute after the first', () => {
    const throttle = new GuessThrottle();
    guess(throttle, 'a', 1_000, 1);
    guess(throttle, 'a', 60_999, 8);
    expect(throttle.waitMs('a', 60_999)).to.equal(0);
    guess(throttle, 'a', 60_999, 1);
    expect(throttle.waitMs('a', 60_999)).to.equal(1);
    expect(throttle.waitMs('b', 60_999)).to.equal(0);
    expect(throttle.waitMs('a', 61_000)).to.equal(0);
    guess(throttle, 'a', 61_000, 9);
    expect(throttle.waitMs('a', 61_000)).to.equal(0);
  });

  it('drops the oldest of more than 10,000 networks', () => {
    const throttle = new GuessThrottle();
    guess(throttle, 'first', 0, 10);
    guess(throttle, 'second', 1, 10);
    for (let network = 2; network < 10_001; network += 1) guess(throttle, String(network), 2, 1);
    expect(throttle.waitMs('first', 3)).to.equal(0);
    expect(throttle.waitMs('second', 3)).to.be.above(0);
  });
});
