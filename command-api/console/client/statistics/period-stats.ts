import { useLocation } from 'preact-iso/router';
import { useEffect, useState } from 'preact/hooks';
import type { PeriodStats } from '../../../../schemas/http/statistics.js';
import { ownZoneOf } from '../../format.js';
import { withQuery } from '../../link-address.js';
import {
  addDays,
  comparedDays,
  isFiltered,
  noFilters,
  readView,
  writeView,
  type Days,
  type StatisticsView,
} from '../../periods.js';
import { matchesVisits, withVisits } from '../../live-statistics.js';
import { callApi, type Failure, type Result } from '../app/api.js';
import { useLoad, useReloadOnReturn } from '../app/hooks.js';
import { useReceived } from '../live/recent-visits.js';

/** The maximum of values of a list. */
export const maxValues = 200;

/** The period and the filters in the address, and the addresses of others, by default on the same page. */
export const useView = (): readonly [
  StatisticsView,
  hrefOf: (change: Partial<StatisticsView>, page?: string) => string,
] => {
  const { path, query } = useLocation();
  const ownZone = ownZoneOf();
  const view = readView(query, new Date(), ownZone);
  return [
    view,
    (change, page = path) => {
      const next = { ...view, ...change };
      // Another preset has other days and another default interval.
      const keepsDays = change.preset === undefined || change.preset === 'custom';
      if (keepsDays) return page + writeView(next, ownZone);
      const { preset, tz, compare, domain, tag, destination, visits, lists } = next;
      const now = new Date();
      const read = readView(
        {
          ...{ period: preset, tz, compare: compare ? '1' : '' },
          ...{ domain, tag, destination, ...visits, lists: lists.join() },
        },
        now,
        ownZone,
      );
      const days = preset === 'custom' ? view : read;
      return page + writeView({ ...read, preset, from: days.from, to: days.to }, ownZone);
    },
  ];
};

/** `value` stays while other statistics are loaded. */
export interface LoadedStats<Stats extends PeriodStats = PeriodStats> {
  /** The code of a link; `null`: all links. */
  readonly shortCode: string | null;
  readonly view: StatisticsView;
  readonly value: Stats | undefined;
  /** The compared period, if it is compared. */
  readonly before: Stats | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Whether the API counts clicks of a list by the day: such a list of a part of a day cannot be compared. */
const isDaily = (include: string, view: StatisticsView): boolean =>
  include === 'links' && !isFiltered(view);

/**
 * After this time, statistics with received visits are loaded again (ms): they lack the visitor-days, and visits that were
 * received while they were loaded.
 */
const inexactMs = 60_000;

/** Statistics with the visits that the stream of the page received since they were loaded. */
const useReceivedVisits = <Stats extends PeriodStats>(
  loaded: Stats | undefined,
  filters: StatisticsView['visits'],
  reload: () => void,
): Stats | undefined => {
  const [counted, setCounted] = useState<{ readonly loaded: Stats; readonly stats: Stats }>();
  useReceived(
    (events) => {
      setCounted((last) => {
        const stats = last?.loaded === loaded ? last?.stats : loaded;
        const matching = events.filter((event) => matchesVisits(event, filters));
        return loaded && stats && { loaded, stats: withVisits(stats, matching) };
      });
    },
    [loaded],
  );
  const isInexact = counted !== undefined && counted.loaded === loaded;
  useEffect(() => {
    if (!isInexact) return undefined;
    const timer = setTimeout(reload, inexactMs);
    return () => clearTimeout(timer);
  }, [isInexact, reload]);
  return isInexact ? counted.stats : loaded;
};

interface ComparedPeriods<Stats> {
  /** Identifies the requests. */
  readonly key: string;
  readonly value: Stats;
  readonly before: Stats | undefined;
}

interface StatsOptions {
  readonly include?: string;
  readonly base?: '/v2/stats' | '/admin/stats';
}

/** Loads the statistics of the period in the address, and of the compared one. @param shortCode `null`: all links */
export const usePeriodStats = <Stats extends PeriodStats>(
  shortCode: string | null,
  { include = 'all', base = '/v2/stats' }: StatsOptions = {},
): LoadedStats<Stats> => {
  const [view] = useView();
  const { interval, tz, domain, tag, destination, compare, preset } = view;
  const visits = shortCode === null ? noFilters.visits : view.visits;
  const pathOf = ({ from, to }: Days): string => {
    const limit = String(maxValues);
    const parameters = { include, from, to, interval, tz, limit, domain };
    return shortCode === null
      ? withQuery(base, { ...parameters, tag, destination })
      : withQuery(`${base}/${encodeURIComponent(shortCode)}`, parameters, visits);
  };
  const hasBefore = compare && !(isDaily(include, view) && preset === 'today');
  const earlier = hasBefore ? pathOf(comparedDays(view, new Date())) : null;
  const now = pathOf(view);
  const key = `${now} ${earlier}`;
  const load = async (): Promise<Result<ComparedPeriods<Stats>>> => {
    const [value, before] = await Promise.all([
      callApi<Stats>(now),
      earlier === null ? null : callApi<Stats>(earlier),
    ]);
    if (!value.ok) return value;
    if (before?.ok === false) return before;
    return { ...value, value: { key, value: value.value, before: before?.value } };
  };
  const { value: last, ...loaded } = useLoad(load, key);
  // After a failure, the last statistics may be those of another filter.
  const periods = loaded.isLoading || last?.key === key ? last : undefined;
  useReloadOnReturn({ value: undefined, ...loaded });
  const value = useReceivedVisits(periods?.value, visits, loaded.reload);
  return { ...loaded, shortCode, view, value, before: periods?.before };
};

/** The last day of a period whose end is exclusive. */
const lastDayOf = (end: string): string => addDays(end.slice(0, 10), -1);

export const fileNameOf = ({ shortCode, view, value }: LoadedStats, list: string): string => {
  const days = value ? [value.period.from.slice(0, 10), lastDayOf(value.period.to)] : [];
  const { domain, tag, destination, visits } = view;
  const links =
    shortCode === null
      ? [destination, tag || 'all-links']
      : [shortCode, ...Object.entries(visits).flat()];
  return [domain, ...links, list, ...days].filter(Boolean).join('-');
};
