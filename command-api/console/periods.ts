/**
 * The period of a page of statistics, in the query of its address. Days are local to the selected time zone, such as
 * `2026-11-23`.
 */
import { dimensionFields } from '../../schemas/statistics/document.js';
import { withQuery } from './link-address.js';

export const presets = [
  'today',
  'yesterday',
  '7d',
  '30d',
  '90d',
  'month',
  'last-month',
  '12m',
  'custom',
] as const;
type Preset = (typeof presets)[number];

export const intervals = ['hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

/** A period from the start of `from` to the start of `to`: days, or local times such as `2026-11-23T14:15`. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

export interface StatisticsView extends Days {
  readonly preset: Preset;
  readonly interval: Interval;
  readonly tz: string;
  readonly compare: boolean;
  /** The domain of the link, or the filter of the overview; empty: the default domain of a link, all links of the overview. */
  readonly domain: string;
  /** A filter of the overview; empty: all tags. */
  readonly tag: string;
  /** A filter of the overview: a host; empty: all destinations. */
  readonly destination: string;
  /** The filters of a link's visits, by field; empty: not recorded. */
  readonly visits: Readonly<Record<string, string>>;
  /** The chosen list of each breakdown, if it is not the first one. */
  readonly lists: readonly string[];
}

const dayMs = 86_400_000;

const format = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export const addDays = (day: string, days: number): string =>
  format(Date.parse(day) + days * dayMs);

const firstOfMonth = (day: string, months = 0): string =>
  format(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1 + months, 1));

const countDays = ({ from, to }: Days): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / dayMs);

/** The format of each zone; `null` if it does not exist. */
const timeFormats = new Map<string, Intl.DateTimeFormat | null>();

const createTimeFormat = (timeZone: string): Intl.DateTimeFormat | null => {
  try {
    // The Swedish format is that of ISO 8601.
    return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  } catch {
    // Unknown time zone.
    return null;
  }
};

const timeFormatOf = (tz: string): Intl.DateTimeFormat | null => {
  const format = timeFormats.get(tz) ?? createTimeFormat(tz);
  timeFormats.set(tz, format);
  return format;
};

/** Names that browsers accept or report, and the API does not. */
const notZones: ReadonlySet<string> = new Set(['Etc/Unknown', 'Factory', 'localtime']);

/** Whether the API accepts a zone. Browsers also accept offsets, such as `+01:00`. */
const isZone = (tz: string): boolean =>
  /^[a-z]/i.test(tz) && !notZones.has(tz) && timeFormatOf(tz) !== null;

/** The IANA zone of a browser: that of an offset of whole hours, and UTC for an unknown one. */
export const zoneOrUtc = (name: string): string => {
  const [, sign, hours = ''] = /^([+-])(\d\d):00$/.exec(name) ?? [];
  // The signs of these zones are inverted.
  const zone = sign ? `Etc/GMT${sign === '+' ? '-' : '+'}${Number(hours)}` : name;
  return isZone(zone) ? zone : 'UTC';
};

/** Such as `2026-11-24 02:00`, in a time zone, or in UTC if the zone does not exist. */
export const timeIn = (tz: string, now: Date): string =>
  timeFormatOf(tz)?.format(now) ?? now.toISOString();

/** The date in a time zone, or in UTC if the zone does not exist. */
export const dayIn = (tz: string, now: Date): string => timeIn(tz, now).slice(0, 10);

const daysOf = (preset: Exclude<Preset, 'custom'>, today: string): Days => {
  const tomorrow = addDays(today, 1);
  switch (preset) {
    case 'today':
      return { from: today, to: tomorrow };
    case 'yesterday':
      return { from: addDays(today, -1), to: today };
    case '7d':
    case '30d':
    case '90d':
      return { from: addDays(tomorrow, -Number.parseInt(preset, 10)), to: tomorrow };
    case 'month':
      return { from: firstOfMonth(today), to: tomorrow };
    case 'last-month':
      return { from: firstOfMonth(today, -1), to: firstOfMonth(today) };
    case '12m':
      return { from: firstOfMonth(today, -11), to: tomorrow };
  }
};

/** The previous period of the same length. */
const daysBefore = (days: Days): Days => ({
  from: addDays(days.from, -countDays(days)),
  to: days.from,
});

/** The exclusive end in an earlier month, which may be shorter. @param day the last day of the period */
const endInMonth = (day: string, months: number): string => {
  const end = addDays(firstOfMonth(day, months), Number(day.slice(8)));
  const next = firstOfMonth(day, months + 1);
  return end < next ? end : next;
};

/** The first quarter hour of a day after the current time of day: the API counts in quarter hours. */
const sameTimeOf = (day: string, tz: string, now: Date): string => {
  const [hours = 0, minutes = 0] = timeIn(tz, now).slice(11, 16).split(':').map(Number);
  const quarters = hours * 4 + Math.floor(minutes / 15) + 1;
  // The end of the day is the start of the next one.
  return quarters === 96
    ? addDays(day, 1)
    : new Date(Date.parse(day) + quarters * 900_000).toISOString().slice(0, 16);
};

/**
 * The period with which a period is compared: a month with the month before, a part of it with the same part. All
 * others are compared with the previous period of the same length.
 */
export const comparedDays = ({ preset, from, to, tz }: StatisticsView, now: Date): Days => {
  const last = addDays(to, -1);
  switch (preset) {
    case 'today':
      return { from: addDays(from, -1), to: sameTimeOf(addDays(from, -1), tz, now) };
    case 'month':
      return { from: firstOfMonth(from, -1), to: endInMonth(last, -1) };
    case 'last-month':
      return { from: firstOfMonth(from, -1), to: from };
    case '12m':
      return { from: firstOfMonth(from, -12), to: endInMonth(last, -12) };
    case 'yesterday':
    case '7d':
    case '30d':
    case '90d':
    case 'custom':
      return daysBefore({ from, to });
  }
};

/** Weeks since 1970. They start on Monday, and 1970 on a Thursday. */
const weekOf = (day: string): number => Math.floor((Date.parse(day) / dayMs + 3) / 7);

const monthOf = (day: string): number => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));

/** The index of an interval in its period, such as the number of days since the start. Equal in comparable periods. */
const indexOf = (start: string, first: string, interval: Interval): number => {
  const day = start.slice(0, 10);
  const days = countDays({ from: first, to: day });
  switch (interval) {
    case 'hour':
      // Partial hours, at a change of the clock, belong to their hour.
      return days * 24 + Number(start.slice(11, 13));
    case 'day':
      return days;
    case 'week':
      return weekOf(day) - weekOf(first);
    case 'month':
      return monthOf(day) - monthOf(first);
  }
};

/** An interval of a series. `start` has local time, such as `2026-11-22T00:00:00+05:45`. */
export interface Counted {
  readonly start: string;
  readonly clicks: number;
}

/**
 * For each interval of a series, the interval of an earlier one at the same position in its period: the same day of the
 * month, the same hour of the day. `null`: the earlier period has none.
 */
export const alignSeries = (
  series: readonly Counted[],
  earlier: readonly Counted[],
  interval: Interval,
): readonly (Counted | null)[] => {
  const firstOf = ([first]: readonly Counted[]): string => first?.start.slice(0, 10) ?? '';
  const byIndex = new Map<number, Counted>();
  for (const counted of earlier) {
    const index = indexOf(counted.start, firstOf(earlier), interval);
    const { start, clicks } = byIndex.get(index) ?? { start: counted.start, clicks: 0 };
    // When the clock goes back, an hour is there twice.
    byIndex.set(index, { start, clicks: clicks + counted.clicks });
  }
  return series.map(({ start }) => {
    const index = indexOf(start, firstOf(series), interval);
    const aligned = byIndex.get(index) ?? null;
    byIndex.delete(index);
    return aligned;
  });
};

/** The maximum of the API. */
const maxIntervals = 400;
/** The minimum length of an interval, in days. */
const shortest: Readonly<Record<Interval, number>> = { hour: 1 / 25, day: 1, week: 7, month: 28 };

/** The intervals that the API allows for a period. */
export const intervalsOf = (days: Days): readonly Interval[] =>
  intervals.filter((interval) => countDays(days) / shortest[interval] <= maxIntervals - 2);

const defaultInterval = (days: Days): Interval => {
  const count = countDays(days);
  if (count <= 2) return 'hour';
  return count <= 120 ? 'day' : 'month';
};

export const isDay = (text: string | undefined): text is string =>
  text !== undefined &&
  /^\d{4}-\d\d-\d\d$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  format(Date.parse(text)) === text;

type Query = Readonly<Record<string, string | undefined>>;

/** Reads a view. Invalid and missing values become the default. */
export const readView = (query: Query, now: Date, ownZone: string): StatisticsView => {
  const { tz: requestedZone = ownZone, from, to, interval: requestedInterval } = query;
  const tz = isZone(requestedZone) ? requestedZone : 'UTC';
  const period = query['period'] ?? '30d';
  const preset = presets.find((name) => name === period) ?? '30d';
  const { domain = '', tag = '', destination = '', compare, lists = '' } = query;
  // The API does not filter by campaigns, which have three values.
  const visits = dimensionFields.flatMap((field) => {
    const value = field === 'campaign' ? undefined : query[field];
    return value === undefined ? [] : [[field, value] as const];
  });
  const rest = {
    ...{ tz, domain, tag, destination, visits: Object.fromEntries(visits) },
    ...{ compare: compare === '1', lists: lists.split(',').filter(Boolean) },
  };
  const known = preset === 'custom' && !(isDay(from) && isDay(to) && from < to) ? '30d' : preset;
  const days =
    known === 'custom' ? { from: from ?? '', to: to ?? '' } : daysOf(known, dayIn(tz, now));
  const interval =
    intervalsOf(days).find((name) => name === requestedInterval) ?? defaultInterval(days);
  return { ...rest, preset: known, from: days.from, to: days.to, interval };
};

export const noFilters = { tag: '', destination: '', visits: {} } as const;

export const isFiltered = (view: StatisticsView): boolean => view.tag + view.destination !== '';

/** The inverse of `readView`, without defaults. */
export const writeView = (view: StatisticsView, ownZone: string): string => {
  const { domain, tag, destination, preset, from, to, interval, tz, compare, lists } = view;
  const parameters = {
    ...{ domain, tag, destination },
    period: preset === '30d' ? '' : preset,
    ...(preset === 'custom' && { from, to }),
    interval: interval === defaultInterval(view) ? '' : interval,
    tz: tz === ownZone ? '' : tz,
    compare: compare ? '1' : '',
    lists: lists.join(),
  };
  return withQuery('', parameters, view.visits);
};
