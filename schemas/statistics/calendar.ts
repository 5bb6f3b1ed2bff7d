/** The calendar of statistics: UTC days since 1970, and quarters of an hour in a day, 0 to 95. */

export const quarterMs = 900_000;
export const quartersOfDay = 96;

export interface Quarter {
  readonly day: number;
  readonly quarter: number;
}

/** The quarter of an hour of a time. @param ms since 1970 */
export const quarterAt = (ms: number): Quarter => {
  const since1970 = Math.floor(ms / quarterMs);
  const day = Math.floor(since1970 / quartersOfDay);
  return { day, quarter: since1970 - day * quartersOfDay };
};

/** The UTC month of a day, in months since January 1970. */
export const monthOf = (day: number): number => {
  const date = new Date(day * quartersOfDay * quarterMs);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
};

/** The first day of a month; a month ends where the next one begins. */
export const firstDayOf = (month: number): number =>
  Date.UTC(1970, month) / (quartersOfDay * quarterMs);
