import { groupBy } from '../../../ops/platform/group-by.js';
import { firstDayOf, monthOf, quartersOfDay } from '../../../schemas/statistics/calendar.js';
import { dimensionNames, otherValue } from '../../../schemas/statistics/document.js';
import type { Visit } from '../link-statistics.js';

/** The rows of a table, in no order. */
export type Rows = Record<string, unknown>[];

interface NaiveVisit extends Visit {
  unique: boolean;
}

/** What the clicks of a day count as: the first hundred values are kept. */
const keptOf = (visits: readonly Visit[]): readonly Visit[] => {
  const kept = new Map<string, Set<string>>();
  return visits.map((visit) => {
    if (visit.bot) return visit;
    const values = visit.values.map((value, dimension) => {
      const seen = kept.get(`${visit.day} ${dimension}`) ?? new Set();
      kept.set(`${visit.day} ${dimension}`, seen);
      if (value === null || value === otherValue) return value;
      if (seen.size < 100) seen.add(value);
      return seen.has(value) ? value : otherValue;
    });
    return { ...visit, values };
  });
};

const documentOf = (visits: readonly Visit[]): string => {
  const clicks = visits.filter(({ bot }) => !bot);
  const lists = dimensionNames.map((_, dimension) => {
    const byValue = groupBy(clicks, ({ values }) => values[dimension] ?? null);
    const nulls = byValue.get(null)?.length ?? 0;
    byValue.delete(null);
    const named = [...byValue].map(([value, { length }]) => [value, length] as const);
    named.sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1));
    return [...(nulls > 0 ? [null, nulls] : []), ...named.flat()];
  });
  return JSON.stringify(lists);
};

const countsOf = (visits: readonly Visit[]) => ({
  clicks: visits.filter(({ bot }) => !bot).length,
  bots: visits.filter(({ bot }) => bot).length,
});

const portionOf = (visits: readonly NaiveVisit[]) => {
  const quarters = [...groupBy(visits, ({ quarter }) => quarter)].sort(([a], [b]) => a - b);
  return {
    uniques: visits.filter(({ unique }) => unique).length,
    series: JSON.stringify(
      quarters.flatMap(([quarter, some]) => [quarter, ...Object.values(countsOf(some))]),
    ),
    document: documentOf(visits),
  };
};

const indexOf = ({ day, quarter }: Visit): number => day * quartersOfDay + quarter;

/** The rows of one owner, by kind of table. */
const rowsOf = (visits: readonly NaiveVisit[], key: object, ofDay: object) => {
  const kept = keptOf(visits) as readonly NaiveVisit[];
  const newest = Math.max(...kept.map(indexOf));
  const day = Math.floor(newest / quartersOfDay);
  const closed = kept.filter((visit) => indexOf(visit) !== newest);
  const open = kept.filter((visit) => indexOf(visit) === newest);
  const days = [...groupBy(closed, (visit) => visit.day)];
  const months = groupBy(closed, (visit) => monthOf(visit.day));
  return {
    newest: [{ ...key, ...countsOf(kept), day, ...portionOf(open) }],
    days: days.map(([of, some]) => ({
      ...{ ...key, day: of, ...ofDay, ...countsOf(some), ...portionOf(some) },
    })),
    quarters: days.flatMap(([of, some]) => {
      const quarters = [...groupBy(some, ({ quarter }) => quarter)];
      if (quarters.length === 1) return [];
      return quarters.map(([quarter, visitsOf]) => ({
        ...{ ...key, day: of, quarter, document: documentOf(visitsOf) },
      }));
    }),
    months: [...months].flatMap(([month, some]) => {
      if (firstDayOf(month + 1) > day || new Set(some.map((visit) => visit.day)).size === 1)
        return [];
      const { uniques, document } = portionOf(some);
      return [{ ...key, month, ...countsOf(some), uniques, document }];
    }),
  };
};

/** The rows that visits of one partition give, in the log's order, computed from all of them at once. */
export const naiveRows = (visits: readonly Visit[], partition: number): Record<string, Rows> => {
  const counted = new Map<Visit, NaiveVisit>();
  const visitors: Rows = [];
  const codes: Rows = [];
  const links = [...groupBy(visits, ({ code }) => code)].map(([code, all]) => {
    const seen = new Map<number, Set<string>>();
    let newest = -Infinity;
    const own = all.map((visit) => {
      newest = Math.max(newest, visit.day);
      const { day, visitor } = visit;
      const naive = { ...visit, unique: false };
      counted.set(visit, naive);
      if (visitor === null || day < newest - 1) return naive;
      const ofDay = seen.get(day) ?? new Set();
      seen.set(day, ofDay);
      naive.unique = !ofDay.has(visitor);
      ofDay.add(visitor);
      return naive;
    });
    const columns = [newest, newest - 1].map((day) => {
      const ofDay = [...(seen.get(day) ?? [])];
      if (ofDay.length <= 32) return ofDay.join('');
      visitors.push(...ofDay.map((visitor) => ({ code, day, visitor })));
      return null;
    });
    const account = all[0]?.account;
    const rows = rowsOf(own, { code }, { account });
    const clicks = all.filter(({ bot }) => !bot).map(({ at }) => at);
    codes.push({
      ...rows.newest[0],
      account,
      last_accessed: clicks.length === 0 ? null : new Date(Math.max(...clicks)),
      visitors: columns[0],
      visitors_before: columns[1],
    });
    return rows;
  });
  const ofPartition = visits.flatMap((visit) => counted.get(visit) ?? []);
  const accounts = [...groupBy(ofPartition, ({ account }) => account)].map(([account, all]) =>
    rowsOf(all, { account, partition }, {}),
  );
  return {
    codes,
    links_by_clicks: codes.flatMap(({ account, clicks, code }) =>
      clicks === 0 ? [] : [{ account, clicks, code }],
    ),
    days: links.flatMap(({ days }) => days),
    quarters: links.flatMap(({ quarters }) => quarters),
    months: links.flatMap(({ months }) => months),
    visitors,
    accounts: accounts.flatMap(({ newest }) => newest),
    account_days: accounts.flatMap(({ days }) => days),
    account_quarters: accounts.flatMap(({ quarters }) => quarters),
    account_months: accounts.flatMap(({ months }) => months),
  };
};
