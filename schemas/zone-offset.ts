import { Temporal } from 'temporal-polyfill';

/** The UTC offset of a zone between two of its transitions. Times are milliseconds since the epoch. */
export interface Offset {
  readonly from: number;
  readonly until: number;
  readonly ms: number;
}

/** The offset of a zone at a time in milliseconds since the epoch. @throws RangeError if the zone is unknown */
export const readOffset = (tz: string, now: number): Offset => {
  const time = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(tz);
  return {
    // The transition before `time` is at `time` at the latest.
    from:
      time.add({ nanoseconds: 1 }).getTimeZoneTransition('previous')?.epochMilliseconds ??
      -Infinity,
    until: time.getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity,
    ms: time.offsetNanoseconds / 1e6,
  };
};
