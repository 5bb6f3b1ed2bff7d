import type { Interval } from '../statistics/period.js';

/**
 * Zones that break what is believed of zones: offsets of quarters and halves of an hour, changes of half
 * an hour and of two, changes at midnight, days that never were.
 */
export const zones = [
  'UTC',
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Asuncion',
  'America/Havana',
  'America/New_York',
  'America/Sao_Paulo',
  'America/Scoresbysund',
  'America/St_Johns',
  'Antarctica/Troll',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Pyongyang',
  'Asia/Tehran',
  'Australia/Eucla',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
] as const;

/** A clock in a zone, by what Intl formats: minutes since 1970 as the clock shows them. */
const clockIn = (tz: string) => {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: tz,
    ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
  });
  return (at: number): number => {
    const [, day, month, year, hour, minute] =
      /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+)$/.exec(format.format(at)) ?? [];
    const shown = [
      Number(year),
      Number(month) - 1,
      Number(day),
      Number(hour),
      Number(minute),
    ] as const;
    return Date.UTC(...shown) / 60_000;
  };
};

/** How far a clock in a zone is ahead of UTC, in minutes. */
export const offsetIn = (tz: string) => {
  const clock = clockIn(tz);
  return (at: number): number => clock(at) - Math.floor(at / 60_000);
};

/** A number that grows from each interval to the next, for a day that a clock shows (days since 1970). */
const ordinalOf = (day: number, interval: Exclude<Interval, 'hour'>): number => {
  const date = new Date(day * 86_400_000);
  // 1970 began on a Thursday.
  if (interval === 'week') return Math.floor((day + 3) / 7);
  return interval === 'day' ? day : date.getUTCFullYear() * 12 + date.getUTCMonth();
};

/** Tells the interval of each moment by what a clock shows then. The moments must come in their order. */
export const intervalKeysIn = (tz: string, interval: Interval) => {
  const clock = clockIn(tz);
  let reached = -Infinity;
  return (at: number): string => {
    const shown = clock(at);
    if (interval === 'hour') return `${Math.floor(shown / 60)}, ${shown - Math.floor(at / 60_000)}`;
    // A clock that goes back over midnight shows an older day once more.
    reached = Math.max(reached, ordinalOf(Math.floor(shown / 1_440), interval));
    return String(reached);
  };
};
