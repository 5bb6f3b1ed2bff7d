import { expect } from 'chai';
import fc from 'fast-check';
import { durationOf, durationOrNever } from './durations.js';

const factors = [
  ['', 1],
  ['s', 1],
  ['m', 60],
  ['h', 3_600],
  ['d', 86_400],
  ['w', 604_800],
] as const;

describe('CLI: durations', () => {
  it('are numbers with a unit, or seconds', () => {
    const examples = { '90': 90, '45s': 45, '90m': 5_400, '12h': 43_200, '30d': 2_592_000 };
    for (const [word, seconds] of Object.entries({ ...examples, '2w': 1_209_600, '0': 0 })) {
      expect(durationOf(word)).to.equal(seconds);
    }
    expect(durationOrNever('never')).to.equal('never');
    expect(durationOrNever('1d')).to.equal(86_400);
  });

  it('multiply the number by the unit', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000_000), fc.constantFrom(...factors), (count, [unit, factor]) => {
        expect(durationOf(`${count}${unit}`)).to.equal(count * factor);
      }),
    );
  });

  it('have no sign, fraction, white space, second unit or capital', () => {
    for (const word of ['', 'd', '-1d', '1.5h', '1 d', '1d ', '1d12h', '1D', '1y', '1e3', '٣d']) {
      expect(() => durationOf(word), word).to.throw(
        `${JSON.stringify(word)} is not a duration: use 30d, 12h, 90m, 2w, or a number of seconds`,
      );
    }
  });

  it('are exact, or an error with the word', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\d{1,17}[smhdw]?$/)), (word) => {
        try {
          const seconds = durationOf(word);
          expect(Number.isSafeInteger(seconds) && seconds >= 0).to.equal(true);
        } catch (error) {
          expect((error as Error).message).to.include(JSON.stringify(word));
        }
      }),
    );
  });
});
