import { Temporal } from 'temporal-polyfill';

export const intervals = ['hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

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

/** The first date of the next interval. */
const nextDate = (
  date: Temporal.PlainDate,
  interval: Exclude<Interval, 'hour'>,
): Temporal.PlainDate => {
  switch (interval) {
    case 'day':
      return date.add({ days: 1 });
    case 'week':
      return date.add({ days: 8 - date.dayOfWeek });
    case 'month':
      return date.with({ day: 1 }).add({ months: 1 });
    default: {
      const unknown: never = interval;
      return unknown;
    }
  }
};

const localTime = (at: number, tz: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(tz);

/** When hours begin after a moment, in order. */
function* hoursAfter(at: number, tz: string): Generator<number, never> {
  let change = at;
  for (;;) {
    const local = localTime(at, tz);
    if (change <= at) change = local.getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity;
    const { minute, second, millisecond } = local;
    const nextHour = at - ((minute * 60 + second) * 1_000 + millisecond) + 3_600_000;
    at = Math.min(nextHour, change);
    yield at;
  }
}

/** When days, weeks or months begin after a moment, in order. */
function* datesAfter(
  at: number,
  tz: string,
  interval: Exclude<Interval, 'hour'>,
): Generator<number, never> {
  let date = localTime(at, tz).toPlainDate();
  for (;;) {
    date = nextDate(date, interval);
    const start = date.toZonedDateTime(tz).epochMilliseconds;
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
  const later =
    interval === 'hour' ? hoursAfter(period.from, tz) : datesAfter(period.from, tz, interval);
  for (const start of later) {
    if (start >= period.to) break;
    if (starts.length === maxIntervals) {
      return { refused: `The period has more than ${maxIntervals} intervals` };
    }
    starts.push(start);
  }
  return { ...period, starts };
};

/** A time as answers write it, such as `2026-11-22T00:00:00+05:45`. */
export const timeIn = (tz: string, at: number): string =>
  Temporal.Instant.fromEpochMilliseconds(at).toString({ timeZone: tz, smallestUnit: 'second' });
