/** Replaces `schemas/zone-offset.ts` in the bundle: its library for time zones has 19 KB. */

const formatOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en', {
    ...{ timeZone, calendar: 'iso8601', hourCycle: 'h23' },
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });

/**
 * The UTC offset of a zone at a time (ms). It is only known at this time, because browsers do not tell transitions.
 *
 * @throws RangeError if the zone is unknown
 */
export const readOffset = (tz: string, now: number) => {
  const parts = new Map(
    formatOf(tz)
      .formatToParts(now)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const local = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return { from: now, until: now + 1, ms: local - Math.floor(now / 1_000) * 1_000 };
};
