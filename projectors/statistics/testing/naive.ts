import { summedUnder } from '../../../schemas/statistics/summed-visits.js';
import { groupBy } from '../../../ops/platform/collections.js';
import { firstDayOf, monthOf, quartersOfDay } from '../../../schemas/statistics/calendar.js';
import { dimensionNames, otherValue } from '../../../schemas/statistics/document.js';
import { openingsPartition, type OpeningBalance } from '../opening-balances.js';
import type { Visit } from '../link-statistics.js';

export type Rows = Record<string, unknown>[];

interface NaiveVisit extends Visit {
  unique: boolean;
}

/** Replaces the values of a day after the first hundred. */
const capValues = (visits: readonly Visit[]): readonly Visit[] => {
  const firstValues = new Map<string, Set<string>>();
  return visits.map((visit) => {
    if (visit.bot) return visit;
    const values = visit.values.map((value, dimension) => {
      const seen = firstValues.get(`${visit.day} ${dimension}`) ?? new Set();
      firstValues.set(`${visit.day} ${dimension}`, seen);
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
  // The lists from targets to the last one with a value are stored.
  const last = lists.findLastIndex((list) => list.some((value) => typeof value === 'string'));
  return JSON.stringify(lists.slice(0, Math.max(dimensionNames.indexOf('targets'), last + 1)));
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
      quarters.flatMap(([quarter, part]) => [quarter, ...Object.values(countsOf(part))]),
    ),
    document: documentOf(visits),
  };
};

const indexOf = ({ day, quarter }: Visit): number => day * quartersOfDay + quarter;

/** Computes the rows of one owner by kind of table. */
const rowsOf = (visits: readonly NaiveVisit[], key: object, ofDay: object) => {
  const capped = capValues(visits) as readonly NaiveVisit[];
  const newest = Math.max(...capped.map(indexOf));
  const day = Math.floor(newest / quartersOfDay);
  const closed = capped.filter((visit) => indexOf(visit) !== newest);
  const open = capped.filter((visit) => indexOf(visit) === newest);
  const days = [...groupBy(closed, (visit) => visit.day)];
  const months = groupBy(closed, (visit) => monthOf(visit.day));
  return {
    newest: [{ ...key, ...countsOf(capped), day, ...portionOf(open) }],
    days: days.map(([closedDay, part]) => ({
      ...{ ...key, day: closedDay, ...ofDay, ...countsOf(part), ...portionOf(part) },
    })),
    quarters: days.flatMap(([closedDay, part]) => {
      const quarters = [...groupBy(part, ({ quarter }) => quarter)];
      if (quarters.length === 1) return [];
      return quarters.map(([quarter, visitsOf]) => ({
        ...{ ...key, day: closedDay, quarter, document: documentOf(visitsOf) },
      }));
    }),
    months: [...months].flatMap(([month, part]) => {
      if (firstDayOf(month + 1) > day || new Set(part.map((visit) => visit.day)).size === 1)
        return [];
      const { uniques, document } = portionOf(part);
      return [{ ...key, month, ...countsOf(part), uniques, document }];
    }),
  };
};

/** The counts of an owner without visits. */
const withoutVisits = { bots: 0, day: 0, uniques: 0, series: '[]', document: '' };

/** Adds opening balances to the rows of links. */
const openLinks = (links: readonly Rows[number][], openings: readonly OpeningBalance[]): Rows => {
  const opened = new Map(openings.map((opening) => [opening.subject, opening]));
  const known = links.map((row): Rows[number] => {
    const opening = opened.get(row['subject'] as string)?.clicks ?? null;
    opened.delete(row['subject'] as string);
    return { ...row, clicks: (row['clicks'] as number) + (opening ?? 0), opening };
  });
  const unvisited = [...opened.values()].map(({ subject, account, clicks }) => ({
    ...{ subject, account, clicks, opening: clicks, ...withoutVisits },
    ...{ last_accessed: null, visitors: '', visitors_before: '' },
  }));
  return [...known, ...unvisited];
};

const openAccounts = (openings: readonly OpeningBalance[], partition: number): Rows => {
  const summed = openings.flatMap((opening) =>
    summedUnder(opening.account, opening.subject).map((account) => ({ ...opening, account })),
  );
  return [...groupBy(summed, ({ account }) => account)].map(([account, ofAccount]) => ({
    ...{ account, partition: openingsPartition(partition), ...withoutVisits },
    clicks: ofAccount.reduce((sum, { clicks }) => sum + clicks, 0),
  }));
};

/**
 * Computes the rows from all visits of one partition, in the order of the log, and the opening balances of the same
 * partition of links.
 */
export const naiveRows = (
  visits: readonly Visit[],
  partition: number,
  openings: readonly OpeningBalance[] = [],
): Record<string, Rows> => {
  const counted = new Map<Visit, NaiveVisit>();
  const visitors: Rows = [];
  const subjects: Rows = [];
  const links = [...groupBy(visits, ({ subject }) => subject)].map(([subject, linkVisits]) => {
    const seen = new Map<number, Set<string>>();
    let newest = -Infinity;
    const own = linkVisits.map((visit) => {
      newest = Math.max(newest, visit.day);
      const { day, visitor } = visit;
      const own = visit.values.with(dimensionNames.indexOf('codes'), visit.code);
      const naive = { ...visit, values: own, unique: false };
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
      visitors.push(...ofDay.map((visitor) => ({ subject, day, visitor })));
      return null;
    });
    const account = linkVisits[0]?.account;
    const rows = rowsOf(own, { subject }, { account });
    const clicks = linkVisits.filter(({ bot }) => !bot).map(({ at }) => at);
    subjects.push({
      ...rows.newest[0],
      account,
      last_accessed: clicks.length === 0 ? null : new Date(Math.max(...clicks)),
      visitors: columns[0],
      visitors_before: columns[1],
    });
    return rows;
  });
  const ofPartition = visits.flatMap((visit) => {
    const { unique } = counted.get(visit) ?? {};
    return unique === undefined ? [] : [{ ...visit, unique }];
  });
  const summed = ofPartition.flatMap((visit) =>
    summedUnder(visit.account, visit.subject).map((key) => ({ key, visit })),
  );
  const visitsOf = [...groupBy(summed, ({ key }) => key)].map(
    ([key, found]) => [key, found.map(({ visit }) => visit)] as const,
  );
  const accounts = visitsOf.map(([account, accountVisits]) =>
    rowsOf(accountVisits, { account, partition }, {}),
  );
  const opened = openLinks(subjects, openings);
  return {
    links: opened,
    links_by_clicks: opened.flatMap(({ account, clicks, subject }) =>
      clicks === 0 ? [] : [{ account, clicks, subject }],
    ),
    days: links.flatMap(({ days }) => days),
    quarters: links.flatMap(({ quarters }) => quarters),
    months: links.flatMap(({ months }) => months),
    visitors,
    accounts: [...accounts.flatMap(({ newest }) => newest), ...openAccounts(openings, partition)],
    account_days: accounts.flatMap(({ days }) => days),
    account_quarters: accounts.flatMap(({ quarters }) => quarters),
    account_months: accounts.flatMap(({ months }) => months),
  };
};
