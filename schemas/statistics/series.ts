/** Visits that were redirected, those of bots apart. */
export interface VisitCounts {
  readonly clicks: number;
  readonly bots: number;
}

/** The quarters of an hour of a UTC day that had visits, 0 to 95. */
export type Series = Map<number, VisitCounts>;

/** Adds visits of a quarter. */
export const addToSeries = (
  series: Series,
  quarter: number,
  { clicks, bots }: VisitCounts,
): void => {
  const known = series.get(quarter);
  series.set(quarter, {
    clicks: clicks + (known?.clicks ?? 0),
    bots: bots + (known?.bots ?? 0),
  });
};

/** Adds the visits of `from` to those of `to`. */
export const mergeSeries = (to: Series, from: Series): void => {
  for (const [quarter, counts] of from) addToSeries(to, quarter, counts);
};

/** All visits of a series. */
export const sumOfSeries = (series: Series): VisitCounts => {
  const sum = { clicks: 0, bots: 0 };
  for (const { clicks, bots } of series.values()) {
    sum.clicks += clicks;
    sum.bots += bots;
  }
  return sum;
};

/** The series as text: a JSON array, `[quarter, clicks, bots, quarter, clicks, bots …]`, in order. */
export const writeSeries = (series: Series): string => {
  const numbers: number[] = [];
  for (const quarter of [...series.keys()].sort((a, b) => a - b)) {
    const { clicks = 0, bots = 0 } = series.get(quarter) ?? {};
    numbers.push(quarter, clicks, bots);
  }
  return JSON.stringify(numbers);
};

/** Gives each quarter of what `writeSeries` wrote, in order, without making a series. */
export const forEachQuarter = (
  text: string,
  use: (quarter: number, clicks: number, bots: number) => void,
): void => {
  const numbers = JSON.parse(text) as readonly number[];
  for (let at = 0; at < numbers.length; at += 3) {
    use(numbers[at] ?? 0, numbers[at + 1] ?? 0, numbers[at + 2] ?? 0);
  }
};

/** Reads what `writeSeries` wrote. */
export const readSeries = (text: string): Series => {
  const series: Series = new Map();
  forEachQuarter(text, (quarter, clicks, bots) => series.set(quarter, { clicks, bots }));
  return series;
};
