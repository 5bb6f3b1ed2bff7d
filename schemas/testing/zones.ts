import type { Interval } from '../statistics/period.js';

/**
 * Time zones with special cases: offsets in quarters of an hour, changes by 30 minutes and by two hours, changes at
 * midnight, skipped days.
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

/** Returns a function that converts a time to local minutes since 1970, with Intl. */
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

/** The number of the interval of a local day (days since 1970). */
const ordinalOf = (day: number, interval: Exclude<Interval, 'hour'>): number => {
  const date = new Date(day * 86_400_000);
  // 1970 began on a Thursday.
  if (interval === 'week') return Math.floor((day + 3) / 7);
  return interval === 'day' ? day : date.getUTCFullYear() * 12 + date.getUTCMonth();
};

/** Returns a function that maps ascending times to the key of their interval, by local time. */
export const intervalKeysIn = (tz: string, interval: Interval) => {
  const clock = clockIn(tz);
  let reached = -Infinity;
  return (at: number): string => {
    const shown = clock(at);
    if (interval === 'hour') return `${Math.floor(shown / 60)}, ${shown - Math.floor(at / 60_000)}`;
    // If the clock goes back over midnight, the previous day appears again.
    reached = Math.max(reached, ordinalOf(Math.floor(shown / 1_440), interval));
    return String(reached);
  };
};
