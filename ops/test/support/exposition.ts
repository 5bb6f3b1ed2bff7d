/** A series of the text format of Prometheus. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const labelPair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** Parses the text format of Prometheus. @throws with a line that is no series, or is repeated */
export const parseExposition = (text: string): readonly Series[] => {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const seen = new Set<string>();
  return lines.map((line) => {
    const [, name, pairs = '', number = ''] = sampleLine.exec(line) ?? [];
    const value = Number(number.replace('Inf', 'Infinity'));
    const identity = `${name}{${pairs}}`;
    if (name === undefined || seen.has(identity)) throw new Error(`not a new series: ${line}`);
    seen.add(identity);
    const labels = Object.fromEntries(
      [...pairs.matchAll(labelPair)].map(([, key = '', quoted = '']) => [
        ...[key, JSON.parse(`"${quoted}"`) as string],
      ]),
    ) as Record<string, string>;
    return { name, labels, value };
  });
};

/** The sum of the series of a name with at least these labels. */
export const total = (
  series: readonly Series[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number =>
  series
    .filter((candidate) => candidate.name === name)
    .filter((candidate) =>
      Object.entries(labels).every(([key, value]) => candidate.labels[key] === value),
    )
    .reduce((sum, { value }) => sum + value, 0);

/**
 * Merges the series of several processes: by addition, or by the function in `how` for the name.
 */
export const merged = (
  processes: readonly (readonly Series[])[],
  how: Readonly<Record<string, (...values: readonly number[]) => number>> = {},
): readonly Series[] => {
  const result = new Map<string, Series>();
  for (const series of processes.flat()) {
    const { name, labels, value } = series;
    const identity = `${name} ${JSON.stringify(labels)}`;
    const before = result.get(identity);
    const merge = how[name] ?? ((a, b) => a + b);
    result.set(identity, before ? { ...series, value: merge(before.value, value) } : series);
  }
  return [...result.values()];
};
