import { expect } from 'chai';
import fc from 'fast-check';
import { Countdown } from './countdown.js';

const pauses = fc.array(fc.record({ from: fc.nat(100), lasts: fc.nat(100) }), { maxLength: 8 });

/** Milliseconds before `now` in which at least one pause lasts. */
const pausedBefore = (
  all: readonly { readonly from: number; readonly lasts: number }[],
  now: number,
): number =>
  Array.from({ length: now }, (_, ms) => ms).filter((ms) =>
    all.some(({ from, lasts }) => from <= ms && ms < from + lasts),
  ).length;

describe('platform: countdown', () => {
  it('does not count the union of its pauses, however they overlap', () => {
    fc.assert(
      fc.property(pauses, fc.nat(500), (all, ms) => {
        const countdown = new Countdown(ms, 0);
        for (let now = 0; now <= 200; now += 1) {
          for (const { from } of all.filter((pause) => pause.from === now)) countdown.pause(from);
          for (const { from, lasts } of all.filter((pause) => pause.from + pause.lasts === now)) {
            countdown.resume(from + lasts);
          }
          expect(countdown.leftMs(now)).to.equal(ms - now + pausedBefore(all, now));
          const isPaused = all.some(({ from, lasts }) => from <= now && now < from + lasts);
          expect(countdown.isPaused).to.equal(isPaused);
        }
      }),
    );
  });
});
