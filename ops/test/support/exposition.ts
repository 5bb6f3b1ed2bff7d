/** One series as it stands in Prometheus' text format. */
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

const numberOf = (text: string): number => Number(text.replace('Inf', 'Infinity'));

/** Which names a family of this type may have series under. */
const belongs = (name: string, family: string, type: string): boolean => {
  if (type === 'histogram') return /^_(bucket|sum|count)$/.test(name.slice(family.length));
  if (type === 'summary') return /^(_sum|_count)?$/.test(name.slice(family.length));
  return name === family;
};

/**
 * Parses Prometheus' text format, strictly: each family once, HELP and TYPE before its series, no
 * series twice, and whole histograms, whose buckets rise.
 *
 * @throws with the line that breaks a rule
 */
export const parseExposition = (text: string): readonly Series[] => {
  if (!text.endsWith('\n')) throw new Error('The last line does not end');
  const families = new Set<string>();
  const seen = new Set<string>();
  const series: Series[] = [];
  let help = '';
  let family = '';
  let type = '';
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [, helped] = helpLine.exec(line) ?? [];
    if (helped !== undefined) {
      help = helped;
      continue;
    }
    const [, typed, ofType] = typeLine.exec(line) ?? [];
    if (typed !== undefined && ofType !== undefined) {
      if (typed !== help || families.has(typed)) throw new Error(`Out of place: ${line}`);
      families.add(typed);
      [family, type] = [typed, ofType];
      continue;
    }
    const [, name, pairs = '', value] = sampleLine.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`No series: ${line}`);
    if (!name.startsWith(family) || !belongs(name, family, type)) {
      throw new Error(`Not of ${family}: ${line}`);
    }
    const identity = `${name}{${pairs}}`;
    if (seen.has(identity)) throw new Error(`Twice: ${line}`);
    seen.add(identity);
    const labels = Object.fromEntries(
      [...pairs.matchAll(labelPair)].map(([, key = '', quoted = '']) => [
        key,
        JSON.parse(`"${quoted}"`) as string,
      ]),
    );
    series.push({ name, labels, value: numberOf(value) });
  }
  expectWholeHistograms(series);
  return series;
};

/** The series of one name that have these labels, and perhaps others; their sum. */
export const total = (
  series: readonly Series[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number =>
  series
    .filter((one) => one.name === name)
    .filter((one) => Object.entries(labels).every(([key, value]) => one.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);

/**
 * The series of several processes as one process would have them: added up, save where `how` says what
 * else one value stands for several.
 */
export const merged = (
  processes: readonly (readonly Series[])[],
  how: Readonly<Record<string, (...values: readonly number[]) => number>> = {},
): readonly Series[] => {
  const all = new Map<string, Series>();
  for (const series of processes.flat()) {
    const { name, labels, value } = series;
    const identity = `${name} ${JSON.stringify(labels)}`;
    const before = all.get(identity);
    const merge = how[name] ?? ((one, other) => one + other);
    all.set(identity, before ? { ...series, value: merge(before.value, value) } : series);
  }
  return [...all.values()];
};

const expectWholeHistograms = (series: readonly Series[]): void => {
  const last = new Map<string, { readonly bound: number; readonly value: number }>();
  for (const { name, labels, value } of series) {
    const { le, ...others } = labels;
    if (le === undefined) continue;
    const key = `${name.replace(/_bucket$/, '')} ${JSON.stringify(others)}`;
    const bound = numberOf(le);
    const before = last.get(key);
    if (before && (before.bound >= bound || before.value > value)) {
      throw new Error(`The buckets of ${key} do not rise`);
    }
    last.set(key, { bound, value });
  }
  for (const { name, labels, value } of series) {
    const histogram = last.get(`${name.replace(/_count$/, '')} ${JSON.stringify(labels)}`);
    if (!histogram || !name.endsWith('_count')) continue;
    if (histogram.bound !== Infinity || histogram.value !== value) {
      throw new Error(`${name} is not its last bucket`);
    }
  }
};
