/** What the bundle has instead of libraries: browsers know time zones, and their URL parser converts domains. */

/** Replaces that of `tr46`, whose tables are larger than the console. */
export const toASCII = (domain: string): string => domain;

const formatOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en', {
    ...{ timeZone, calendar: 'iso8601', hourCycle: 'h23' },
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });

/**
 * Replaces that of `schemas/zone-offset.ts`, whose library has 19 KB. The UTC offset of a zone is only known at the
 * time (ms), because browsers do not tell transitions.
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
