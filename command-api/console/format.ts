/** How the console writes numbers, times and names. Its pages are in English, so all of these are. */

const numbers = new Intl.NumberFormat('en');
const shares = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const changes = new Intl.NumberFormat('en', {
  style: 'percent',
  maximumFractionDigits: 0,
  signDisplay: 'exceptZero',
});
const times = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const dates = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const countries = new Intl.DisplayNames('en', { type: 'region' });
const languages = new Intl.DisplayNames('en', { type: 'language' });

export const formatNumber = (value: number): string => numbers.format(value);

/** `part` of `whole`, such as `12.5%`. */
export const formatShare = (part: number, whole: number): string =>
  shares.format(whole === 0 ? 0 : part / whole);

/** From `before` to `now`, such as `+12%`; `null` where there was nothing before. */
export const formatChange = (now: number, before: number): string | null =>
  before === 0 ? null : changes.format((now - before) / before);

/** In the zone of the browser. */
export const formatTime = (time: string): string => times.format(new Date(time));
export const formatDate = (time: string): string => dates.format(new Date(time));

/** A day without a zone, such as `2026-12-01`. */
export const formatDay = (day: string): string =>
  new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(day));

/**
 * The start of an interval, such as `2026-11-22T00:00:00+05:45`, in words. Its own digits are the local time:
 * no zone is applied to them.
 */
export const formatStart = (start: string, interval: string): string => {
  const local = new Date(`${start.slice(0, 19)}Z`);
  const style: Intl.DateTimeFormatOptions =
    interval === 'month'
      ? { month: 'short', year: 'numeric' }
      : interval === 'hour'
        ? { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
        : { month: 'short', day: 'numeric' };
  return new Intl.DateTimeFormat('en', { ...style, timeZone: 'UTC' }).format(local);
};

const nameBy = (names: Intl.DisplayNames, code: string): string => {
  try {
    return names.of(code) ?? code;
  } catch {
    // Not a code: shown as it was recorded.
    return code;
  }
};

/** Names that are not just their values with a capital letter. */
const ownNames = new Map([
  ['qr', 'QR code'],
  ['tv', 'TV'],
]);

/** A value of a breakdown, for people. */
export const formatValue = (dimension: string, value: string | null): string => {
  if (value === null) return dimension === 'referrers' ? 'Direct or unknown' : 'Unknown';
  if (value === '(other)') return 'All others';
  switch (dimension) {
    case 'countries':
      return nameBy(countries, value);
    case 'languages':
      return nameBy(languages, value);
    case 'devices':
    case 'triggers':
      return ownNames.get(value) ?? value.charAt(0).toUpperCase() + value.slice(1);
    default:
      return value;
  }
};
