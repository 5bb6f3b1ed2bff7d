import { expect } from 'chai';
import { quarterMs } from '../../schemas/statistics/calendar.js';
import { emptyDocument, writeDocument } from '../../schemas/statistics/document.js';
import { periodOf, readTime, type Interval, type Period } from '../../schemas/statistics/period.js';
import { coverageOf, createPeriodSum, type StatisticsRow } from './breakdowns.js';

const dayMs = 96 * quarterMs;
const dayOf = (date: string): number => Date.parse(date) / dayMs;

const period = (from: string, to: string, interval: Interval = 'day', tz = 'UTC') => {
  const times = { from: readTime(from) ?? undefined, to: readTime(to) ?? undefined };
  const found = periodOf({ ...times, interval, tz }, new Date());
  if ('refused' in found) throw new Error(found.refused);
  return found;
};

const row = (more: Partial<StatisticsRow>): StatisticsRow => ({
  ...{ day: null, clicks: 0, bots: 0, uniques: 0, series: null, document: null },
  ...more,
});

const from = (...referrers: readonly (readonly [string | null, number])[]): string =>
  writeDocument(
    emptyDocument().map((list, dimension) => (dimension === 0 ? referrers.flat() : list)),
  );

const periodStatsOf = (
  period: Period,
  rows: readonly StatisticsRow[],
  included: ReadonlySet<string>,
  limit: number,
) => {
  const sum = createPeriodSum(period);
  for (const row of rows) sum.add(row);
  return sum.statsOf(included, limit, null);
};

describe('command API: rows of a period', () => {
  it('are whole months and days, and the quarters at both ends', () => {
    expect(coverageOf(period('2026-01-30T12:00', '2026-04-02T00:15'))).to.deep.equal({
      days: [dayOf('2026-01-30'), dayOf('2026-04-03')],
      wholeDays: [dayOf('2026-01-31'), dayOf('2026-04-02')],
      wholeMonths: [56 * 12 + 1, 56 * 12 + 3],
      cutDays: [dayOf('2026-01-30'), dayOf('2026-04-02')],
      endDays: [dayOf('2026-01-30'), dayOf('2026-04-02')],
      quarters: [dayOf('2026-01-30') * 96 + 48, dayOf('2026-04-02') * 96 + 1],
    });
  });

  it('include the quarters of each UTC day in which a local day starts', () => {
    const local = period('2026-05-01', '2026-05-03', 'day', 'Asia/Kathmandu');
    const { cutDays, endDays } = coverageOf(local);
    expect(cutDays).to.deep.equal(['2026-04-30', '2026-05-01', '2026-05-02'].map(dayOf));
    expect(endDays).to.deep.equal(['2026-04-30', '2026-05-02'].map(dayOf));
  });
});

describe('command API: statistics of a period', () => {
  const may = (day: number): number => dayOf('2026-05-01') + day - 1;
  const three = period('2026-05-01', '2026-05-04');

  it('are zero without visits', () => {
    const included = new Set(['timeseries', 'referrers', 'bots', 'uniques']);
    const midnight = (day: number) => `2026-05-0${day}T00:00:00+00:00`;
    const zero = { bots: 0, uniques: 0 };
    expect(periodStatsOf(three, [], included, 20)).to.deep.equal({
      period: { from: midnight(1), to: midnight(4), interval: 'day', tz: 'UTC', clickCount: 0 },
      timeseries: [1, 2, 3].map((day) => ({ start: midnight(day), clicks: 0, ...zero })),
      ...{ referrers: [], ...zero },
    });
  });

  it('contain only the included statistics', () => {
    const rows = [row({ day: may(2), clicks: 3, bots: 1, uniques: 2 })];
    expect(periodStatsOf(three, rows, new Set(), 20)).to.have.all.keys('period');
    const { timeseries } = periodStatsOf(three, rows, new Set(['timeseries']), 20);
    expect(timeseries?.[1]).to.deep.equal({ start: '2026-05-02T00:00:00+00:00', clicks: 3 });
    const hours = period('2026-05-02', '2026-05-03', 'hour');
    const byHour = periodStatsOf(hours, [], new Set(['timeseries', 'uniques']), 20);
    expect(byHour.timeseries?.[0]).to.have.all.keys('start', 'clicks');
  });

  it('have lists with the most clicks first, and other values summed up at the end', () => {
    const rows = [
      row({ document: from(['b', 2], ['a', 2], [null, 2]) }),
      row({ document: from(['c', 5], ['d', 1], ['(other)', 9]) }),
    ];
    const listed = (limit: number): unknown =>
      periodStatsOf(three, rows, new Set(['referrers']), limit).referrers?.map(
        ({ value, clicks }) => [value, clicks],
      );
    const top = ['c', 5];
    const others = [null, 'a', 'b'].map((value) => [value, 2]);
    expect(listed(20)).to.deep.equal([top, ...others, ['d', 1], ['(other)', 9]]);
    expect(listed(2)).to.deep.equal([top, [null, 2], ['(other)', 14]]);
  });

  it('split a partly covered day into quarter hours', () => {
    const cut = period('2026-05-01T12:00', '2026-05-02T12:00');
    const included = new Set(['referrers', 'uniques']);
    const at = (series: string) => {
      const rows = [row({ day: may(1), series, uniques: 3, document: from(['a', 1]) })];
      const stats = periodStatsOf(cut, rows, included, 20);
      return [stats.period.clickCount, stats.referrers?.length, stats.uniques];
    };
    expect(at('[47,1,0]')).to.deep.equal([0, 0, 3]);
    expect(at('[48,1,0]')).to.deep.equal([1, 1, 3]);
    expect(at('[47,1,0,48,1,0]')).to.deep.equal([1, 0, 3]);
    expect(at('[]')).to.deep.equal([0, 0, 3]);
  });

  it('ignore a newest quarter outside the period', () => {
    const rows = [row({ day: may(4), series: '[0,1,1]', uniques: 1, document: from(['a', 1]) })];
    const stats = periodStatsOf(three, rows, new Set(['referrers', 'bots', 'uniques']), 20);
    expect(stats).to.deep.include({ referrers: [], bots: 0, uniques: 0 });
    expect(stats.period.clickCount).to.equal(0);
  });
});
