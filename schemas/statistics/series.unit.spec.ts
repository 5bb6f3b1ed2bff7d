import { expect } from 'chai';
import fc from 'fast-check';
import { firstDayOf, monthOf, quarterAt } from './calendar.js';
import {
  addToSeries,
  mergeSeries,
  readSeries,
  sumOfSeries,
  writeSeries,
  type Series,
} from './series.js';

const someVisits = fc.array(fc.tuple(fc.nat(95), fc.boolean()), { maxLength: 200 });

const seriesOf = (visits: readonly (readonly [number, boolean])[]): Series => {
  const series: Series = [];
  for (const [quarter, bot] of visits) {
    addToSeries(series, quarter, bot ? { clicks: 0, bots: 1 } : { clicks: 1, bots: 0 });
  }
  return series;
};

describe('schemas: series of statistics', () => {
  it('counts the visits of each quarter, merges, and is read as written', () => {
    fc.assert(
      fc.property(someVisits, someVisits, (some, more) => {
        const series = seriesOf([...some, ...more]);
        const merged = seriesOf(some);
        mergeSeries(merged, seriesOf(more));
        expect(writeSeries(merged)).to.equal(writeSeries(series));
        expect(readSeries(writeSeries(series))).to.deep.equal(series);
        const bots = [...some, ...more].filter(([, bot]) => bot).length;
        expect(sumOfSeries(series)).to.deep.equal({
          clicks: some.length + more.length - bots,
          bots,
        });
      }),
    );
  });

  it('is in the order of the quarters', () => {
    const series = seriesOf([
      [40, false],
      [7, true],
      [40, false],
    ]);
    expect(writeSeries(series)).to.equal('[7,0,1,40,2,0]');
  });
});

describe('schemas: calendar of statistics', () => {
  it('counts days and quarters since 1970', () => {
    expect(quarterAt(Date.parse('1970-01-02T00:15:00.000Z'))).to.deep.equal({ day: 1, quarter: 1 });
    expect(quarterAt(Date.parse('2026-05-20T23:59:59.999Z'))).to.deep.equal({
      day: Date.parse('2026-05-20') / 86_400_000,
      quarter: 95,
    });
  });

  it('has every day in the month that contains it', () => {
    fc.assert(
      fc.property(fc.nat(2_900_000), (day) => {
        const month = monthOf(day);
        expect(firstDayOf(month)).to.be.at.most(day);
        expect(firstDayOf(month + 1)).to.be.above(day);
      }),
    );
    expect(monthOf(Date.parse('2026-05-31') / 86_400_000)).to.equal(56 * 12 + 4);
  });
});
