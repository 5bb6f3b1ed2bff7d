import type { Labels } from './durations.js';

/** A number with its labels. */
export type Sample = readonly [labels: Labels, value: number];

/** A number, or several with different labels, that is read for each answer of GET /metrics. */
export interface Figure {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Must not fail: the whole answer would. A value that cannot be read is left out. */
  readonly read: () => number | readonly Sample[] | Promise<readonly Sample[]>;
}

/** What a figure is now. */
export const samplesOf = async ({ read }: Pick<Figure, 'read'>): Promise<readonly Sample[]> => {
  const value = await read();
  return typeof value === 'number' ? [[{}, value]] : value;
};

/** Takes figures, to be read for each answer. */
export interface Gauges {
  gauge(figure: Figure): void;
}
