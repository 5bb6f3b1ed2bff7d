/** The value that this part of the values is below; NaN without values. */
export const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? NaN;

/** The upper median. */
export const median = (values: readonly number[]): number => percentile(values, 0.5);
