import { expect } from 'chai';
import fc from 'fast-check';
import {
  addSpending,
  inMonth,
  monthAfter,
  spendingOf,
  unusedMeter,
  type Spending,
} from './key-meter.js';
import { blocked, codeAdded, created, visited } from '../testing/events.js';

const months = ['2026-02-01', '2026-03-01', '2026-04-01', '2026-05-01', '2026-06-01'];

const spending = fc.record({
  keyId: fc.constant('key-1'),
  month: fc.constantFrom(...months),
  calls: fc.nat(100),
  links: fc.nat(100),
  qrCodes: fc.nat(100),
  allLinks: fc.nat(100),
});

/** The sums of the newest three months with spendings, except `but`. */
const othersOf = (spendings: readonly Spending[], but: string | undefined) => {
  const others: [string, number[]][] = [];
  for (const month of [...months].reverse()) {
    const ofMonth = spendings.filter((entry) => entry.month === month);
    const sums = (['calls', 'links', 'qrCodes'] as const).map((what) =>
      ofMonth.reduce((total, entry) => total + entry[what], 0),
    );
    if (month !== but && sums.some((sum) => sum > 0)) others.push([month, sums]);
  }
  return Object.fromEntries(others.slice(0, 3));
};

describe('schemas: meter of a key', () => {
  it('sums up the newest four months, for any order of events', () => {
    fc.assert(
      fc.property(fc.array(spending, { minLength: 1 }), (spendings) => {
        const latest = spendings
          .map(({ month }) => month)
          .sort()
          .at(-1);
        const ofLatest = spendings.filter(({ month }) => month === latest);
        const sum = (what: 'calls' | 'links' | 'qrCodes') =>
          ofLatest.reduce((total, entry) => total + entry[what], 0);
        expect(spendings.reduce(addSpending, unusedMeter)).to.deep.equal({
          month: latest,
          calls: sum('calls'),
          links: sum('links'),
          qrCodes: sum('qrCodes'),
          otherMonths: othersOf(spendings, latest),
          allLinks: spendings.reduce((total, { allLinks }) => total + allLinks, 0),
          usageSequence: 0,
        });
      }),
    );
  });

  it('keeps the counts of a month while the clock jumps to another month', () => {
    fc.assert(
      fc.property(fc.constantFrom(...months), spending, (month, spent) => {
        const meter = addSpending(unusedMeter, spent);
        const there = { ...meter, ...inMonth(meter, month) };
        expect(there.month).to.equal(month);
        if (month !== spent.month) expect(there).to.include({ calls: 0, links: 0, qrCodes: 0 });
        expect({ ...there, ...inMonth(there, spent.month) }).to.deep.equal(meter);
      }),
    );
    expect(['2026-02-01', '2026-12-01'].map(monthAfter)).to.deep.equal([
      '2026-03-01',
      '2027-01-01',
    ]);
  });

  it('counts a link for the creating key, in the month of its creation', () => {
    const time = { time: new Date('2026-05-31T23:59:59.999Z') };
    const expected: Spending = {
      keyId: 'key-9',
      month: '2026-05-01',
      calls: 0,
      links: 1,
      qrCodes: 0,
      allLinks: 1,
    };
    expect(spendingOf(created('spring', { keyId: 'key-9' }, time))).to.deep.equal(expected);
    const code = codeAdded('spring', 2, { code: 'sprnig', keyId: 'key-9' }, time);
    expect(spendingOf(code)).to.deep.equal({ ...expected, allLinks: 0 });
    expect(spendingOf(blocked('spring', 2))).to.equal(null);
    expect(spendingOf(visited('spring', 1))).to.equal(null);
  });
});
