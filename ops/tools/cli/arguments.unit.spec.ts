import { expect } from 'chai';
import fc from 'fast-check';
import { durationOf, durationOrNever, nearest, oneOf } from './arguments.js';

describe('CLI: choices on the command line', () => {
  const plans = ['FREE', 'HOBBY', 'INDIE', 'PRO'] as const;

  it('accepts a choice in any case', () => {
    expect(oneOf('plan', plans)('PRO')).to.equal('PRO');
    expect(oneOf('plan', plans)('hobby')).to.equal('HOBBY');
  });

  it('suggests a choice at an edit distance of 1, including transpositions', () => {
    const names = ['redirects', 'quotas', 'stats'];
    expect(nearest('sttas', names)).to.equal('stats');
    expect(nearest('stat', names)).to.equal('stats');
    expect(nearest('statss', names)).to.equal('stats');
    expect(nearest('Quotes', names)).to.equal('quotas');
    expect(nearest('redirect', names)).to.equal('redirects');
    expect(nearest('links', names)).to.be.null;
  });
});

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
    fc.assert(
      fc.property(fc.nat(1_000_000_000), fc.constantFrom(...factors), (count, [unit, factor]) => {
        expect(durationOf(`${count}${unit}`)).to.equal(count * factor);
      }),
    );
    expect(durationOrNever('never')).to.equal('never');
    expect(durationOrNever('1d')).to.equal(86_400);
  });

  it('have no sign, fraction, white space, second unit or capital, and are exact', () => {
    const inexact = '9'.repeat(17);
    for (const word of [
      ...['', 'd', '-1d', '1.5h', '1 d', '1d ', '1d12h', '1D', '1y', '1e3', '٣d', inexact],
      ...['999999999999999w'],
    ]) {
      expect(() => durationOf(word), word).to.throw(
        `${JSON.stringify(word)} is not a duration: use 30d, 12h, 90m, 2w, or a number of seconds`,
      );
    }
  });
});
