/** Times in import files. Each format of a time is listed here; nothing is guessed. */
import { Temporal } from 'temporal-polyfill';

/** ISO 8601 with an optional time and offset; the offset also as `+0000`, `+00` or `UTC`. */
const isoTime =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?)?$/i;

/** `MM/DD/YYYY`, optionally with `HH:MM`, `HH:MM:SS`, or either with `AM` or `PM`. */
const usTime = /^(\d\d?)\/(\d\d?)\/(\d{4})(?:,? (\d\d?):(\d\d)(?::(\d\d))?(?: ?([AP])M)?)?$/i;

/** Seconds since 1973 have 9 or 10 digits, and milliseconds 12 or 13. Other numbers, such as `20240131`, are no times. */
const epochTime = /^(?:(\d{9,10})(?:\.\d+)?|(\d{12,13}))$/;

const minuteMs = 60_000;

/** RFC 3339 in UTC with milliseconds, for the years 1 to 9999. PostgreSQL has no year 0. */
const write = (milliseconds: number): string | null => {
  const time = new Date(milliseconds).toISOString();
  return time.length === 24 && !time.startsWith('0000') ? time : null;
};

type Field = string | undefined;

/** Fields of a local time as ISO 8601 with milliseconds; `null` if there is no such date or time. */
const localTime = (
  date: readonly Field[],
  time: readonly Field[],
  fraction = '',
): string | null => {
  const pad = (field = '', length = 2): string => field.padStart(length, '0');
  const [year, month, day] = date;
  const [hour, minute, second] = time;
  // A leap second has the number 60, and reads as 59.
  const clock = [hour, minute, second === '60' ? '59' : second]
    .map((field) => pad(field))
    .join(':');
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  const local = `${pad(year, 4)}-${pad(month)}-${pad(day)}T${clock}.${milliseconds}`;
  const parsed = Date.parse(`${local}Z`);
  // `Date.parse` moves days such as 30 February to the next month.
  const isTime = !Number.isNaN(parsed) && new Date(parsed).toISOString() === `${local}Z`;
  return isTime && !local.startsWith('0000') ? local : null;
};

/** A local time that a DST gap skips moves forward; of a repeated one, the first counts. */
const inZone = (local: string | null, zone: string): string | null => {
  if (local === null || zone === 'UTC') return local && `${local}Z`;
  return write(Temporal.PlainDateTime.from(local).toZonedDateTime(zone).epochMilliseconds);
};

/** The offset of `+05:30`, `+0530`, `+05`, `Z` or `UTC`; `null` if it is out of range. */
const offsetMilliseconds = (offset: string): number | null => {
  if (/^[a-z]/i.test(offset)) return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(3).replace(':', ''));
  if (hours > 23 || minutes > 59) return null;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * minuteMs;
};

const readIso = (fields: readonly Field[], zone: string): string | null => {
  const [fraction, offset] = fields.slice(7);
  const local = localTime(fields.slice(1, 4), fields.slice(4, 7), fraction);
  if (offset === undefined) return inZone(local, zone);
  const shift = offsetMilliseconds(offset);
  return local === null || shift === null ? null : write(Date.parse(`${local}Z`) - shift);
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

/** Reads the times of `readTime`, and dates of the USA: `12/31/2024`, also with `23:59`, `11:59 PM` or `11:59:59 PM`. */
export const readUsTime = (text: string, zone: string): string | null => {
  const fields = usTime.exec(text.trim());
  if (!fields) return readTime(text, zone);
  const [, month, day, year, hour, minute, second, half] = fields;
  if (half === undefined)
    return inZone(localTime([year, month, day], [hour, minute, second]), zone);
  if (Number(hour) < 1 || Number(hour) > 12) return null;
  const hour24 = (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0);
  return inZone(localTime([year, month, day], [String(hour24), minute, second]), zone);
};
