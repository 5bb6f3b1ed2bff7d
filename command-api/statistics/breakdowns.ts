import { readCampaign } from '../../schemas/campaign.js';
import { monthOf, quarterMs, quartersOfDay } from '../../schemas/statistics/calendar.js';
import {
  addToSum,
  dimensionNames,
  emptySum,
  otherValue,
  type Dimension,
  type DocumentSum,
  readDocument,
  type Value,
} from '../../schemas/statistics/document.js';
import type { Breakdown, PeriodStats } from '../../schemas/http/statistics.js';
import { timesIn, type Period } from '../../schemas/statistics/period.js';
import { forEachQuarter, readSeries } from '../../schemas/statistics/series.js';

const dayMs = quarterMs * quartersOfDay;

/** `to` is exclusive. */
type Range = readonly [from: number, to: number];

const isIn = (number: number, [from, to]: Range): boolean => number >= from && number < to;

/** The rows of a period. Quarters, days and months are counted since 1970. */
interface Coverage {
  readonly days: Range;
  readonly wholeDays: Range;
  readonly wholeMonths: Range;
  /** Days in which an interval starts or the period ends: their quarters' counts are needed. */
  readonly cutDays: readonly number[];
  /** Partly covered days: their quarters' documents are needed. */
  readonly endDays: readonly number[];
  readonly quarters: Range;
}

export const coverageOf = ({ from, to, starts }: Period): Coverage => {
  const days = [Math.floor(from / dayMs), Math.ceil(to / dayMs)] as const;
  const first = Math.ceil(from / dayMs);
  const wholeDays = [first, Math.max(first, Math.floor(to / dayMs))] as const;
  const firstMonth = monthOf(first - 1) + 1;
  const wholeMonths = [firstMonth, Math.max(firstMonth, monthOf(wholeDays[1]))] as const;
  const cutAt = (moments: readonly number[]): readonly number[] => [
    ...new Set(moments.filter((at) => at % dayMs !== 0).map((at) => Math.floor(at / dayMs))),
  ];
  return {
    days,
    wholeDays,
    wholeMonths,
    cutDays: cutAt([...starts, to]),
    endDays: cutAt([from, to]),
    quarters: [from / quarterMs, to / quarterMs],
  };
};

/** A row of a day, of a day's newest quarter (not yet added to the day), of a month, or of a quarter. */
export interface StatisticsRow {
  /** `null` for months and quarters, of which only the document is used. */
  readonly day: number | null;
  readonly clicks: number;
  readonly bots: number;
  readonly uniques: number;
  /** `null` if the day is within one interval. */
  readonly series: string | null;
  readonly document: string | null;
}

interface IntervalCounts {
  readonly end: number;
  clicks: number;
  bots: number;
  uniques: number;
}

/** The values in the order of clicks. */
export const byClicks = <Key extends Value>(values: ReadonlyMap<Key, number>) =>
  [...values]
    .map(([value, clicks]) => ({ value, clicks }))
    .sort((a, b) => b.clicks - a.clicks || ((a.value ?? '') < (b.value ?? '') ? -1 : 1));

/** The values with the most clicks. Other values, and those that days did not store, are `(other)`. */
export const listOf = (values: ReadonlyMap<Value, number>, limit: number) => {
  const named = byClicks(values).filter(({ value }) => value !== otherValue);
  const other = named
    .slice(limit)
    .reduce((sum, { clicks }) => sum + clicks, values.get(otherValue) ?? 0);
  const top = named.slice(0, limit);
  return other > 0 ? [...top, { value: otherValue, clicks: other }] : top;
};

const campaignsOf = (values: ReadonlyMap<Value, number>, limit: number) =>
  listOf(values, limit).map(({ value, clicks }) =>
    value === otherValue
      ? { campaign: value, source: null, medium: null, clicks }
      : { ...readCampaign(value), clicks },
  );

/**
 * The lists of a response.
 *
 * @param firstCode of the link: the code of visits without one
 */
export const listsOf = (
  sum: DocumentSum,
  names: readonly Dimension[],
  limit: number,
  firstCode: string | null,
): Pick<PeriodStats, Dimension> =>
  Object.fromEntries(
    names.map((name) => {
      if (name === 'campaigns') return [name, campaignsOf(sum[name], limit)] as const;
      const list = listOf(sum[name], limit);
      if (name !== 'codes') return [name, list] as const;
      return [name, list.map(({ value, clicks }) => ({ value: value ?? firstCode, clicks }))];
    }),
  ) as Pick<PeriodStats, Dimension>;

/** Sums up the rows of the coverage of a period. @param maxValues of a dimension; later ones are `(other)` */
export const createPeriodSum = (period: Period, maxValues = Infinity) => {
  const { from, to, interval, tz, starts } = period;
  const { days, wholeDays } = coverageOf(period);
  const intervals = starts.map((_, index): IntervalCounts => {
    return { end: starts[index + 1] ?? to, clicks: 0, bots: 0, uniques: 0 };
  });
  const total = emptySum();

  /** The interval at a time (binary search). */
  const intervalAt = (at: number): IntervalCounts => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? Infinity) <= at) low = middle;
      else high = middle;
    }
    const found = intervals[low];
    if (!found) throw new RangeError('The period has no interval');
    return found;
  };

  /** Returns the clicks of the row in the period; 0 if only its document is used. */
  const add = ({ day, document, ...row }: StatisticsRow): number => {
    let isWhole = true;
    let added = 0;
    if (day !== null) {
      if (!isIn(day, days)) return 0;
      // If uniques by interval are requested, intervals contain whole days, except the first and the last one.
      const dayInterval = intervalAt(Math.max(day * dayMs, from));
      dayInterval.uniques += row.uniques;
      if (row.series === null) {
        added = row.clicks;
        dayInterval.clicks += added;
        dayInterval.bots += row.bots;
      } else {
        let quarters = 0;
        let within = 0;
        let quarterInterval = dayInterval;
        forEachQuarter(readSeries(row.series), (quarter, clicks, bots) => {
          quarters += 1;
          const at = day * dayMs + quarter * quarterMs;
          if (!isIn(at, [from, to])) return;
          within += 1;
          // Most quarters are in the interval of the previous one.
          if (at >= quarterInterval.end) quarterInterval = intervalAt(at);
          added += clicks;
          quarterInterval.clicks += clicks;
          quarterInterval.bots += bots;
        });
        // A day with one quarter has the quarter's document; other quarters have their own rows.
        isWhole = isIn(day, wholeDays) || (quarters === 1 && within === 1);
      }
    }
    if (isWhole && document !== null) addToSum(total, readDocument(document), maxValues);
    return added;
  };

  const sumOf = (count: 'clicks' | 'bots' | 'uniques'): number =>
    intervals.reduce((sum, counts) => sum + counts[count], 0);
  const statsOf = (
    included: ReadonlySet<string>,
    limit: number,
    firstCode: string | null,
  ): PeriodStats => {
    const has = (name: Breakdown): boolean => included.has(name);
    const uniquesByInterval = has('uniques') && tz === 'UTC' && interval !== 'hour';
    const timeAt = timesIn(tz);
    const timeseries = intervals.map(({ clicks, bots, uniques }, index) => ({
      start: timeAt(starts[index] ?? from),
      clicks,
      ...(has('bots') && { bots }),
      ...(uniquesByInterval && { uniques }),
    }));
    return {
      period: {
        from: timeAt(from),
        to: timeAt(to),
        interval,
        tz,
        clickCount: sumOf('clicks'),
      },
      ...(has('timeseries') && { timeseries }),
      ...listsOf(total, dimensionNames.filter(has), limit, firstCode),
      ...(has('bots') && { bots: sumOf('bots') }),
      ...(has('uniques') && { uniques: sumOf('uniques') }),
    };
  };
  return { add, statsOf };
};
