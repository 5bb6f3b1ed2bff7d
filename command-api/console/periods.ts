/**
 * The period of a page of statistics, in the query of its address. Days are local to the selected time zone, such as
 * `2026-11-23`.
 */

export const presets = {
  today: 'Today',
  yesterday: 'Yesterday',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  month: 'This month',
  'last-month': 'Last month',
  '12m': 'Last 12 months',
  custom: 'Custom',
} as const;
export type Preset = keyof typeof presets;

export const intervals = ['hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

/** From the start of `from` to the start of `to`. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

export interface StatisticsView extends Days {
  readonly preset: Preset;
  readonly interval: Interval;
  readonly tz: string;
  readonly compare: boolean;
  /** Of the link, or the filter of the overview; empty: the default domain of a link, all links of the overview. */
  readonly domain: string;
}

const dayMs = 86_400_000;

const format = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export const addDays = (day: string, days: number): string =>
  format(Date.parse(day) + days * dayMs);

const firstOfMonth = (day: string, months = 0): string =>
  format(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1 + months, 1));

export const countDays = ({ from, to }: Days): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / dayMs);

/** By zone; `null` if it does not exist. */
const dayFormats = new Map<string, Intl.DateTimeFormat | null>();

const createDayFormat = (timeZone: string): Intl.DateTimeFormat | null => {
  try {
    // The Swedish format is that of ISO 8601.
    return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
  } catch {
    // Unknown time zone.
    return null;
  }
};

const dayFormatOf = (tz: string): Intl.DateTimeFormat | null => {
  const format = dayFormats.get(tz) ?? createDayFormat(tz);
  dayFormats.set(tz, format);
  return format;
};

const isZone = (tz: string): boolean => dayFormatOf(tz) !== null;

/** The date in a time zone, or in UTC if the zone does not exist. */
export const dayIn = (tz: string, now: Date): string =>
  dayFormatOf(tz)?.format(now) ?? format(now.getTime());

const daysOf = (preset: Exclude<Preset, 'custom'>, today: string): Days => {
  const tomorrow = addDays(today, 1);
  switch (preset) {
    case 'today':
      return { from: today, to: tomorrow };
    case 'yesterday':
      return { from: addDays(today, -1), to: today };
    case '7d':
      return { from: addDays(today, -6), to: tomorrow };
    case '30d':
      return { from: addDays(today, -29), to: tomorrow };
    case '90d':
      return { from: addDays(today, -89), to: tomorrow };
    case 'month':
      return { from: firstOfMonth(today), to: tomorrow };
    case 'last-month':
      return { from: firstOfMonth(today, -1), to: firstOfMonth(today) };
    case '12m':
      return { from: firstOfMonth(today, -11), to: tomorrow };
  }
};

/** The previous period of the same length. */
export const daysBefore = (days: Days): Days => ({
  from: addDays(days.from, -countDays(days)),
  to: days.from,
});

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
  const preset = Object.hasOwn(presets, period) ? (period as Preset) : '30d';
  const rest = { tz, compare: query['compare'] === '1', domain: query['domain'] ?? '' };
  const known = preset === 'custom' && !(isDay(from) && isDay(to) && from < to) ? '30d' : preset;
  const days =
    known === 'custom' ? { from: from ?? '', to: to ?? '' } : daysOf(known, dayIn(tz, now));
  const interval =
    intervalsOf(days).find((name) => name === requestedInterval) ?? defaultInterval(days);
  return { ...rest, preset: known, from: days.from, to: days.to, interval };
};

/** The inverse of `readView`, without defaults. */
export const writeView = (view: StatisticsView, ownZone: string): string => {
  const query = new URLSearchParams();
  if (view.domain !== '') query.set('domain', view.domain);
  if (view.preset !== '30d') query.set('period', view.preset);
  if (view.preset === 'custom') {
    query.set('from', view.from);
    query.set('to', view.to);
  }
  if (view.interval !== defaultInterval(view)) query.set('interval', view.interval);
  if (view.tz !== ownZone) query.set('tz', view.tz);
  if (view.compare) query.set('compare', '1');
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
};
