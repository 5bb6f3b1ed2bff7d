/** Redirected visits; those of bots are counted separately. */
export interface VisitCounts {
  readonly clicks: number;
  readonly bots: number;
}

/**
 * The quarters of an hour of a UTC day with visits, 0 to 95, in order: `[quarter, clicks, bots, quarter …]`. It is
 * stored as this array in JSON.
 */
export type Series = number[];

/** Adds visits to a quarter. */
export const addToSeries = (
  series: Series,
  quarter: number,
  { clicks, bots }: VisitCounts,
): void => {
  let end = series.length;
  // Most visits are in the last quarter.
  while (end > 0 && (series[end - 3] ?? 0) > quarter) end -= 3;
  if (end === 0 || series[end - 3] !== quarter) {
    series.splice(end, 0, quarter, clicks, bots);
    return;
  }
  series[end - 2] = (series[end - 2] ?? 0) + clicks;
  series[end - 1] = (series[end - 1] ?? 0) + bots;
};

/** Calls `use` for each quarter, in order. */
export const forEachQuarter = (
  series: Readonly<Series>,
  use: (quarter: number, clicks: number, bots: number) => void,
): void => {
  for (let at = 0; at < series.length; at += 3) {
    use(series[at] ?? 0, series[at + 1] ?? 0, series[at + 2] ?? 0);
  }
};

/** Adds the visits of `from` to those of `to`. */
export const mergeSeries = (to: Series, from: Readonly<Series>): void => {
  forEachQuarter(from, (quarter, clicks, bots) => {
    addToSeries(to, quarter, { clicks, bots });
  });
};

export const sumOfSeries = (series: Readonly<Series>): VisitCounts => {
  const sum = { clicks: 0, bots: 0 };
  forEachQuarter(series, (_, clicks, bots) => {
    sum.clicks += clicks;
    sum.bots += bots;
  });
  return sum;
};

export const writeSeries = (series: Readonly<Series>): string => JSON.stringify(series);

export const readSeries = (text: string): Series => JSON.parse(text) as Series;
