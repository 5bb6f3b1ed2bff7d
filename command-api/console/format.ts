/** Formats numbers, times and names for the console, in English. */

/** Creates a value on first use: each `Intl` object takes a millisecond or more. */
export const once = <Value>(create: () => Value): (() => Value) => {
  let value: Value | undefined;
  return () => (value ??= create());
};

const numberFormat = (options: Intl.NumberFormatOptions) =>
  once(() => new Intl.NumberFormat('en', options));
const timeFormat = (options: Intl.DateTimeFormatOptions) =>
  once(() => new Intl.DateTimeFormat('en', options));

const numbers = numberFormat({});
const shares = numberFormat({ style: 'percent', maximumFractionDigits: 1 });
const changes = numberFormat({
  style: 'percent',
  maximumFractionDigits: 0,
  signDisplay: 'exceptZero',
});
const times = timeFormat({ dateStyle: 'medium', timeStyle: 'short' });
const clocks = timeFormat({ timeStyle: 'medium' });
const dates = timeFormat({ dateStyle: 'medium' });
const countries = once(() => new Intl.DisplayNames('en', { type: 'region' }));
const languages = once(() => new Intl.DisplayNames('en', { type: 'language' }));

const days = timeFormat({ dateStyle: 'medium', timeZone: 'UTC' });

/** The time zone of the browser. */
export const ownZoneOf = once(() => new Intl.DateTimeFormat().resolvedOptions().timeZone);

export const formatNumber = (value: number): string => numbers().format(value);

/** `part` of `whole`, such as `12.5%`. */
export const formatShare = (part: number, whole: number): string =>
  shares().format(whole === 0 ? 0 : part / whole);

/** The change from `before` to `now`, such as `+12%`; `null` if `before` is 0. */
export const formatChange = (now: number, before: number): string | null =>
  before === 0 ? null : changes().format((now - before) / before);

/** In the time zone of the browser. */
export const formatTime = (time: string): string => times().format(new Date(time));
export const formatClock = (time: string): string => clocks().format(new Date(time));
export const formatDate = (time: string): string => dates().format(new Date(time));

/** A day without a zone, such as `2026-12-01`. */
export const formatDay = (day: string): string => days().format(new Date(day));

// A plot has up to 400 intervals, for which `Intl` is slow.
const monthNames = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/**
 * Formats the start of an interval, such as `2026-11-22T00:00:00+05:45`. Its digits are already local time.
 */
export const formatStart = (start: string, interval: string): string => {
  const [, year = '', month = '', day = '', time = ''] =
    /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d)/.exec(start) ?? [];
  const name = monthNames[Number(month) - 1] ?? '';
  if (interval === 'month') return `${name} ${year}`;
  const date = `${name} ${Number(day)}`;
  return interval === 'hour' ? `${date}, ${time}` : date;
};

/** `linklog.LinkCreated.v1` or `LinkCreated` in words: `Link created`. */
export const formatEventType = (type: string): string => {
  const name = (type.split('.')[1] ?? type).replace(/^Api/, 'API');
  return name.replaceAll(/(?<=[a-zI])[A-Z](?=[a-z])/g, (capital) => ` ${capital.toLowerCase()}`);
};

const nameBy = (names: Intl.DisplayNames, code: string): string => {
  try {
    return names.of(code) ?? code;
  } catch {
    // Not a code.
    return code;
  }
};

/** Values whose display name is not the capitalised value. */
const displayNames = new Map([
  ['qr', 'QR code'],
  ['tv', 'TV'],
]);

const nullNames = new Map([
  ['referrers', 'Direct or unknown'],
  ['targets', 'No rule'],
]);

/** The display name of a value of a breakdown. */
export const formatValue = (dimension: string, value: string | null): string => {
  if (value === null) return nullNames.get(dimension) ?? 'Unknown';
  if (value === '(other)') return 'All others';
  switch (dimension) {
    case 'countries':
      return nameBy(countries(), value);
    case 'languages':
      return nameBy(languages(), value);
    case 'devices':
    case 'triggers':
      return displayNames.get(value) ?? value.charAt(0).toUpperCase() + value.slice(1);
    default:
      return value;
  }
};
