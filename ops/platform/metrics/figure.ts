export type Labels = Readonly<Record<string, string>>;

export type Sample = readonly [labels: Labels, value: number];

/** A metric that is read for each response to GET /metrics. */
export interface Figure {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Whether several processes expose the same value, so that the sum over processes is meaningless. */
  readonly shared?: boolean;
  /** Must not fail, because the whole response would. Omit a sample that cannot be read. */
  readonly read: () => number | readonly Sample[] | Promise<readonly Sample[]>;
}

export const samplesOf = async ({ read }: Pick<Figure, 'read'>): Promise<readonly Sample[]> => {
  const value = await read();
  return typeof value === 'number' ? [[{}, value]] : value;
};

export interface Gauges {
  gauge(figure: Figure): void;
}
