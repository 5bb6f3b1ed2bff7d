/** Times in import files. Each format of a time is listed here; nothing is guessed. */
import { Temporal } from 'temporal-polyfill';

/** ISO 8601 with an optional time and offset; the offset also as `+0000`, `+00` or `UTC`. */
const isoTime =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?)?$/i;

/** `MM/DD/YYYY`, optionally with `HH:MM`, `HH:MM:SS`, or either with `AM` or `PM`. */
const usTime = /^(\d\d?)\/(\d\d?)\/(\d{4})(?:,? (\d\d?):(\d\d)(?::(\d\d))?(?: ?([AP])M)?)?$/i;

/** Seconds since 1973 have 9 or 10 digits, and milliseconds 12 or 13. Other numbers, such as `20240131`, are no times. */
const epochTime = /^(?:(\d{9,10})(?:\.\d+)?|(\d{12,13}))$/;

/** Local fields of a time. `second` can be 60 (a leap second), which reads as 59. */
interface LocalTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
}

const minuteMs = 60_000;

const daysInMonth = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
};

/** The Gregorian calendar repeats after 400 years. */
const cycleYears = 400;
const cycleMs = 146_097 * 86_400_000;

/** The local time as if it were UTC, in milliseconds since the epoch; `null` if there is no such date or time. */
const utcMilliseconds = (time: LocalTime): number | null => {
  const { year, month, day, hour, minute, second, millisecond } = time;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 60) return null;
  // `Date.UTC` reads the years 0 to 99 as 1900 to 1999.
  const date = [month - 1, day, hour, minute, Math.min(second, 59), millisecond] as const;
  return Date.UTC(year + cycleYears, ...date) - cycleMs;
};

/** RFC 3339 in UTC with milliseconds, for the years 1 to 9999. PostgreSQL has no year 0. */
const write = (milliseconds: number): string | null => {
  const time = new Date(milliseconds).toISOString();
  return time.length === 24 && !time.startsWith('0000') ? time : null;
};

/** A local time that a DST gap skips moves forward; of a repeated one, the first counts. */
const inZone = (time: LocalTime, zone: string): string | null => {
  const milliseconds = utcMilliseconds(time);
  if (milliseconds === null || zone === 'UTC')
    return milliseconds === null ? null : write(milliseconds);
  const local = Temporal.PlainDateTime.from(time);
  return write(local.toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds);
};

/** The offset of `+05:30`, `+0530`, `+05`, `Z` or `UTC`; `null` if it is out of range. */
const offsetMilliseconds = (offset: string): number | null => {
  if (/^[a-z]/i.test(offset)) return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(3).replace(':', ''));
  if (hours > 23 || minutes > 59) return null;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * minuteMs;
};

const readIso = (fields: readonly (string | undefined)[], zone: string): string | null => {
  const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = '', offset] = fields;
  const time = {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    millisecond: fraction === '' ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0')),
  };
  if (offset === undefined) return inZone(time, zone);
  const [milliseconds, shift] = [utcMilliseconds(time), offsetMilliseconds(offset)];
  return milliseconds === null || shift === null ? null : write(milliseconds - shift);
};

/**
 * Reads ISO 8601, `YYYY-MM-DD HH:MM:SS`, and seconds or milliseconds since the epoch.
 *
 * @param zone IANA name, for times without an offset
 * @returns RFC 3339 in UTC with milliseconds; `null` if the text is no such time (also `0000-00-00 00:00:00`)
 */
export const readTime = (text: string, zone: string): string | null => {
  const trimmed = text.trim();
  const iso = isoTime.exec(trimmed);
  if (iso) return readIso(iso, zone);
  const epoch = epochTime.exec(trimmed);
  if (!epoch) return null;
  return write(epoch[2] === undefined ? Math.floor(Number(trimmed) * 1000) : Number(trimmed));
};

/** As `readTime`, and dates of the USA: `12/31/2024`, also with `23:59`, `11:59 PM` or `11:59:59 PM`. */
export const readUsTime = (text: string, zone: string): string | null => {
  const fields = usTime.exec(text.trim());
  if (!fields) return readTime(text, zone);
  const [, month, day, year, hour = 0, minute = 0, second = 0, half] = fields;
  if (half !== undefined && (Number(hour) < 1 || Number(hour) > 12)) return null;
  const time = {
    ...{ year: Number(year), month: Number(month), day: Number(day) },
    hour: half === undefined ? Number(hour) : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0),
    ...{ minute: Number(minute), second: Number(second), millisecond: 0 },
  };
  return inZone(time, zone);
};
