/** Statistics with the visits that a stream delivers after they were loaded. */
import type { PeriodStats } from '../../schemas/http/statistics.js';
import { dimensions } from '../../schemas/statistics/document.js';
import { others } from './comparison.js';
import { isVisit, linkOf, type LiveEvent } from './live-events.js';

type Row = Readonly<Record<string, unknown>> & { readonly clicks: number };
type Lists = Readonly<Record<string, readonly Row[] | undefined>>;

const isOther = ({ value, campaign }: Row): boolean => value === others || campaign === others;

/** The values of a visit in each list, as the fields of a row. */
const valuesOf = (event: LiveEvent): readonly (readonly [list: string, values: object])[] => {
  const { data } = event;
  const { campaign: text } = data;
  const link = linkOf(event);
  const campaign = Object.fromEntries(new URLSearchParams(typeof text === 'string' ? text : ''));
  return [
    ...Object.entries({ ...dimensions, campaigns: '' }).map(
      ([list, field]) => [list, { value: data[field] ?? null }] as const,
    ),
    ['codes', { value: data['code'] ?? event.subject }],
    ['campaigns', { campaign: null, source: null, medium: null, ...campaign }],
    ['links', link],
  ];
};

/** @param list the name of the list: the URL of a link without clicks is not known */
const count = (list: string, rows: readonly Row[], values: object): readonly Row[] => {
  const isSame = (row: Row): boolean =>
    Object.entries(values).every(([name, value]) => (row[name] ?? null) === value);
  const added = { ...values, ...(list === 'links' && { url: '' }), clicks: 0 };
  const counted = rows.find(isSame) ?? rows.find(isOther) ?? added;
  return [
    ...rows.filter((row) => row !== counted),
    { ...counted, clicks: counted.clicks + 1 },
  ].sort((a, b) => Number(isOther(a)) - Number(isOther(b)) || b.clicks - a.clicks);
};

const addVisit = <Stats extends PeriodStats>(stats: Stats, event: LiveEvent): Stats => {
  const at = Date.parse(event.time);
  const { period, timeseries = [], bots = 0, uniques } = stats;
  if (!isVisit(event) || at < Date.parse(period.from) || at >= Date.parse(period.to)) return stats;
  const name = event.data['bot'] === true ? 'bots' : 'clicks';
  const current = timeseries.findLastIndex(({ start }) => Date.parse(start) <= at);
  const counted = {
    ...stats,
    timeseries: timeseries.map((interval, index) =>
      index === current ? { ...interval, [name]: (interval[name] ?? 0) + 1 } : interval,
    ),
  };
  if (name === 'bots') return { ...counted, bots: bots + 1 };
  const lists = stats as unknown as Lists;
  return {
    ...counted,
    period: { ...period, clickCount: period.clickCount + 1 },
    // Only the first visitor is certainly a new one.
    ...(uniques === 0 && event.data['visitor'] != null && { uniques: 1 }),
    ...Object.fromEntries(
      valuesOf(event).map(([list, values]) => [
        list,
        lists[list] && count(list, lists[list], values),
      ]),
    ),
  };
};

/** Whether a visit passes the filters of a page. */
export const matchesVisits = (
  { data, subject }: LiveEvent,
  filters: Readonly<Record<string, string>>,
): boolean =>
  Object.entries(filters).every(
    ([field, value]) => (data[field] ?? (field === 'code' ? subject : '')) === value,
  );

export const withVisits = <Stats extends PeriodStats>(
  stats: Stats,
  events: readonly LiveEvent[],
): Stats => events.reduce(addVisit<Stats>, stats);
