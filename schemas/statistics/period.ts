import { Temporal } from 'temporal-polyfill';
import { firstDayOf, monthOf, quarterMs, quartersOfDay } from './calendar.js';

export const intervals = ['hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

const hourMs = 3_600_000;
const dayMs = quarterMs * quartersOfDay;
const maxIntervals = 400;

/** A requested time: with an offset, or local to a zone, or the start of a day there. */
export type RequestedTime = Temporal.Instant | Temporal.PlainDateTime | Temporal.PlainDate;

interface RequestedPeriod {
  readonly from?: RequestedTime | undefined;
  readonly to?: RequestedTime | undefined;
  readonly interval: Interval;
  /** A result of `readZone`. */
  readonly tz: string;
}

/** The period of statistics. Times are milliseconds since 1970, in whole quarters of an hour. */
export interface Period {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly interval: Interval;
  readonly tz: string;
  /** The start of each interval, in order. The first one is `from`. */
  readonly starts: readonly number[];
}

/** ISO 8601, for years that have four digits in every zone. */
const timeShape = /^[12]\d{3}-\d\d-\d\d(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** Parses a time; `null` if it is invalid. */
export const readTime = (text: string): RequestedTime | null => {
  const [matched, time, offset] = timeShape.exec(text) ?? [];
  if (matched === undefined) return null;
  try {
    if (time === undefined) return Temporal.PlainDate.from(text, { overflow: 'reject' });
    if (offset !== undefined) return Temporal.Instant.from(text);
    return Temporal.PlainDateTime.from(text, { overflow: 'reject' });
  } catch {
    // The day or the time of day does not exist.
    return null;
  }
};

/** The name of an IANA time zone in canonical case; `null` if it does not exist or is an offset. */
export const readZone = (name: string): string | null => {
  if (!/^[a-z]/i.test(name)) return null;
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId;
  } catch {
    return null;
  }
};

/** The instant of a time. A repeated local time is the earlier one; a skipped one is moved forward by the gap. */
export const instantOf = (time: RequestedTime, tz: string): Temporal.Instant =>
  time instanceof Temporal.Instant ? time : time.toZonedDateTime(tz).toInstant();

const toQuarter = (instant: Temporal.Instant, roundingMode: 'floor' | 'ceil'): number =>
  instant.round({ smallestUnit: 'minute', roundingIncrement: 15, roundingMode }).epochMilliseconds;

/** The first day of the next interval, in days since 1970. */
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

/** The offset of local time from UTC (ms), and the time of its next change. */
interface ZoneOffset {
  readonly offset: number;
  readonly until: number;
}

type OffsetAt = (at: number) => ZoneOffset;

/**
 * Looks up offsets of a zone. A look-up takes up to 80 µs, so the last result is reused until the next change of the
 * offset: call it with ascending times.
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

/** The starts of hours after a time, in order. */
function* hoursAfter(at: number, offsetAt: OffsetAt): Generator<number, never> {
  for (;;) {
    const { offset, until } = offsetAt(at);
    const nextHour = (Math.floor((at + offset) / hourMs) + 1) * hourMs - offset;
    at = Math.min(nextHour, until);
    yield at;
  }
}

/** The start of a day that begins after `at`. */
const startOfDay = (day: number, at: number, offsetAt: OffsetAt): number => {
  for (;;) {
    const { offset, until } = offsetAt(at);
    const start = day * dayMs - offset;
    // If a change of the clock skips midnight, the day begins with the change.
    if (start < until) return Math.max(start, at);
    at = until;
  }
};

/** The starts of days, weeks or months after a time, in order. */
function* datesAfter(
  at: number,
  offsetAt: OffsetAt,
  interval: Exclude<Interval, 'hour'>,
): Generator<number, never> {
  let day = Math.floor((at + offsetAt(at).offset) / dayMs);
  for (;;) {
    day = nextDay(day, interval);
    const start = startOfDay(day, at, offsetAt);
    // If the clock goes back over midnight, the day has two starts, and the first one counts.
    if (start <= at) continue;
    at = start;
    yield at;
  }
}

/** The requested period, or why it is invalid. */
export const periodOf = (
  { from, to, interval, tz }: RequestedPeriod,
  now: Date,
): Period | { readonly refused: string } => {
  const end = to ? instantOf(to, tz) : Temporal.Instant.fromEpochMilliseconds(now.getTime());
  const begin = from ? instantOf(from, tz) : end.subtract({ hours: 30 * 24 });
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
 * Formats times for responses, such as `2026-11-22T00:00:00+05:45`. Fast for ascending times. An offset with seconds,
 * as before 1900, is rounded to the minute.
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
