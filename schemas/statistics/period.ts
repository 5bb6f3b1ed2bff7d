import { Temporal } from 'temporal-polyfill';
import { firstDayOf, monthOf, quarterMs, quartersOfDay } from './calendar.js';

export const intervals = ['hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

const hourMs = 3_600_000;
const dayMs = quarterMs * quartersOfDay;
const maxIntervals = 400;
const defaultDays = 30;

/** A time as it was asked for: with an offset, or local to a zone, or the first moment of a day there. */
export type AskedTime = Temporal.Instant | Temporal.PlainDateTime | Temporal.PlainDate;

export interface AskedPeriod {
  readonly from?: AskedTime | undefined;
  readonly to?: AskedTime | undefined;
  readonly interval: Interval;
  /** As `readZone` gives it. */
  readonly tz: string;
}

/** What statistics are about. Times are milliseconds since 1970, and whole quarters of an hour. */
export interface Period {
  readonly from: number;
  /** Not part of it. */
  readonly to: number;
  readonly interval: Interval;
  readonly tz: string;
  /** Where each interval begins, in order; the first one is `from`. */
  readonly starts: readonly number[];
}

/** ISO 8601 of the years that four digits write in every zone. */
const timeShape = /^[12]\d{3}-\d\d-\d\d(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** Reads a time; `null` for a text that is none. */
export const readTime = (text: string): AskedTime | null => {
  const [matched, time, offset] = timeShape.exec(text) ?? [];
  if (matched === undefined) return null;
  try {
    if (time === undefined) return Temporal.PlainDate.from(text, { overflow: 'reject' });
    if (offset !== undefined) return Temporal.Instant.from(text);
    return Temporal.PlainDateTime.from(text, { overflow: 'reject' });
  } catch {
    // There is no such day, or no such time of day.
    return null;
  }
};

/** The name of an IANA time zone in its usual case; `null` where there is none, or only an offset. */
export const readZone = (name: string): string | null => {
  if (!/^[a-z]/i.test(name)) return null;
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId;
  } catch {
    return null;
  }
};

/** A local time that a change of the clock repeats is the earlier one; one that it skips, as much later. */
export const instantOf = (time: AskedTime, tz: string): Temporal.Instant =>
  time instanceof Temporal.Instant ? time : time.toZonedDateTime(tz).toInstant();

const toQuarter = (instant: Temporal.Instant, roundingMode: 'floor' | 'ceil'): number =>
  instant.round({ smallestUnit: 'minute', roundingIncrement: 15, roundingMode }).epochMilliseconds;

/** The first day of the next interval. Days are counted since 1970. */
const nextDay = (day: number, interval: Exclude<Interval, 'hour'>): number => {
  switch (interval) {
    case 'day':
      return day + 1;
    case 'week':
      // 1970 began on a Thursday.
      return (Math.floor((day + 3) / 7) + 1) * 7 - 3;
    case 'month':
      return firstDayOf(monthOf(day) + 1);
    default: {
      const unknown: never = interval;
      return unknown;
    }
  }
};

/** The offset of local time from UTC, in milliseconds, and the moment of its next change. */
interface ZoneOffset {
  readonly offset: number;
  readonly until: number;
}

type OffsetAt = (at: number) => ZoneOffset;

/**
 * The offsets of a zone. A look-up takes up to 80 µs, so the last result is reused for later moments up to the next
 * change of the offset: query moments in ascending order.
 */
const offsetsIn = (tz: string): OffsetAt => {
  let from = Infinity;
  let found: ZoneOffset = { offset: 0, until: -Infinity };
  return (at) => {
    if (at >= from && at < found.until) return found;
    const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(tz);
    from = at;
    found = {
      offset: local.offsetNanoseconds / 1e6,
      until: local.getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity,
    };
    return found;
  };
};

/** When hours begin after a moment, in order. */
function* hoursAfter(at: number, offsetAt: OffsetAt): Generator<number, never> {
  for (;;) {
    const { offset, until } = offsetAt(at);
    const nextHour = (Math.floor((at + offset) / hourMs) + 1) * hourMs - offset;
    at = Math.min(nextHour, until);
    yield at;
  }
}

/** The first moment, from `at` on, of a day that begins after `at`. */
const startOfDay = (day: number, at: number, offsetAt: OffsetAt): number => {
  for (;;) {
    const { offset, until } = offsetAt(at);
    const start = day * dayMs - offset;
    // If a change of the clock skips midnight, the day begins with the change.
    if (start < until) return Math.max(start, at);
    at = until;
  }
};

/** When days, weeks or months begin after a moment, in order. */
function* datesAfter(
  at: number,
  offsetAt: OffsetAt,
  interval: Exclude<Interval, 'hour'>,
): Generator<number, never> {
  let day = Math.floor((at + offsetAt(at).offset) / dayMs);
  for (;;) {
    day = nextDay(day, interval);
    const start = startOfDay(day, at, offsetAt);
    // A day may begin twice, where the clock goes back over midnight: then it began the first time.
    if (start <= at) continue;
    at = start;
    yield at;
  }
}

/** The period that was asked for, or why there is none. */
export const periodOf = (
  { from, to, interval, tz }: AskedPeriod,
  now: Date,
): Period | { readonly refused: string } => {
  const end = to ? instantOf(to, tz) : Temporal.Instant.fromEpochMilliseconds(now.getTime());
  const begin = from ? instantOf(from, tz) : end.subtract({ hours: defaultDays * 24 });
  if (Temporal.Instant.compare(begin, end) >= 0) return { refused: 'from must be before to' };

  const period = { from: toQuarter(begin, 'floor'), to: toQuarter(end, 'ceil'), interval, tz };
  const starts = [period.from];
  const offsetAt = offsetsIn(tz);
  const later =
    interval === 'hour'
      ? hoursAfter(period.from, offsetAt)
      : datesAfter(period.from, offsetAt, interval);
  for (const start of later) {
    if (start >= period.to) break;
    if (starts.length === maxIntervals) {
      return { refused: `The period has more than ${maxIntervals} intervals` };
    }
    starts.push(start);
  }
  return { ...period, starts };
};

const twoDigits = (number: number): string => String(number).padStart(2, '0');

/**
 * Writes times as answers have them, such as `2026-11-22T00:00:00+05:45`. Fast for times in ascending order. An offset
 * with seconds, as before 1900, is rounded to the minute.
 */
export const timesIn = (tz: string): ((at: number) => string) => {
  const offsetAt = offsetsIn(tz);
  return (at) => {
    const { offset } = offsetAt(at);
    const minutes = Math.round(Math.abs(offset) / 60_000);
    const sign = offset < 0 ? '-' : '+';
    const hours = twoDigits(Math.floor(minutes / 60));
    const local = new Date(at + offset).toISOString().slice(0, 'YYYY-MM-DDThh:mm:ss'.length);
    return `${local}${sign}${hours}:${twoDigits(minutes % 60)}`;
  };
};
