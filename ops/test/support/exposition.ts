/** A series of the text format of Prometheus. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const helpLine = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) \S.*$/;
const typeLine = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary)$/;
const label = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const sampleLine = new RegExp(
  String.raw`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(${label}(?:,${label})*)\})? ` +
    String.raw`([+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|Na[Nn])$`,
);
const labelPair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

const parseNumber = (text: string): number => Number(text.replace('Inf', 'Infinity'));

/** Whether a series of this name can belong to a family of this type. */
const belongs = (name: string, family: string, type: string): boolean => {
  if (type === 'histogram') return /^_(bucket|sum|count)$/.test(name.slice(family.length));
  if (type === 'summary') return /^(_sum|_count)?$/.test(name.slice(family.length));
  return name === family;
};

/**
 * Parses the text format of Prometheus strictly: unique families and series, HELP and TYPE before the series, complete
 * histograms with ascending buckets.
 *
 * @throws with the line that violates a rule
 */
export const parseExposition = (text: string): readonly Series[] => {
  if (!text.endsWith('\n')) throw new Error('the last line has no line end');
  const families = new Set<string>();
  const seen = new Set<string>();
  const series: Series[] = [];
  let help = '';
  let family = '';
  let type = '';
  for (const line of text.split('\n').filter((text) => text !== '')) {
    const [, helped] = helpLine.exec(line) ?? [];
    if (helped !== undefined) {
      help = helped;
      continue;
    }
    const [, typed, ofType] = typeLine.exec(line) ?? [];
    if (typed !== undefined && ofType !== undefined) {
      if (typed !== help || families.has(typed)) throw new Error(`unexpected TYPE: ${line}`);
      families.add(typed);
      [family, type] = [typed, ofType];
      continue;
    }
    const [, name, pairs = '', value] = sampleLine.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`not a series: ${line}`);
    if (!name.startsWith(family) || !belongs(name, family, type)) {
      throw new Error(`not in family ${family}: ${line}`);
    }
    const identity = `${name}{${pairs}}`;
    if (seen.has(identity)) throw new Error(`duplicate series: ${line}`);
    seen.add(identity);
    const labels = Object.fromEntries(
      [...pairs.matchAll(labelPair)].map(([, key = '', quoted = '']) => [
        key,
        JSON.parse(`"${quoted}"`) as string,
      ]),
    );
    series.push({ name, labels, value: parseNumber(value) });
  }
  checkHistograms(series);
  return series;
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

const checkHistograms = (series: readonly Series[]): void => {
  const last = new Map<string, { readonly bound: number; readonly value: number }>();
  for (const { name, labels, value } of series) {
    const { le, ...others } = labels;
    if (le === undefined) continue;
    const key = `${name.replace(/_bucket$/, '')} ${JSON.stringify(others)}`;
    const bound = parseNumber(le);
    const before = last.get(key);
    if (before && (before.bound >= bound || before.value > value)) {
      throw new Error(`the buckets of ${key} are not ascending`);
    }
    last.set(key, { bound, value });
  }
  for (const { name, labels, value } of series) {
    const histogram = last.get(`${name.replace(/_count$/, '')} ${JSON.stringify(labels)}`);
    if (!histogram || !name.endsWith('_count')) continue;
    if (histogram.bound !== Infinity || histogram.value !== value) {
      throw new Error(`${name} differs from the last bucket`);
    }
  }
};
