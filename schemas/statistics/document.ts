/** The clicks of a quarter of an hour, a day or a month, by the values in their events. */

/** The dimensions of clicks: the name in responses, and the field of LinkVisited. */
export const dimensions = {
  referrers: 'referrer',
  countries: 'country',
  browsers: 'browser',
  os: 'os',
  devices: 'device',
  languages: 'language',
  triggers: 'trigger',
  targets: 'target',
  /** Only in documents of links: their number in an account or domain is not bounded. */
  codes: 'code',
  campaigns: 'campaign',
} as const;

export type Dimension = keyof typeof dimensions;

export const dimensionNames = Object.keys(dimensions) as readonly Dimension[];

/** Stands for all values beyond the limit. A referrer of this name counts as this value, too. */
export const otherValue = '(other)';

/** `null`: not recorded. */
export type Value = string | null;

/** `[value, clicks, value, clicks …]`: `null` first, then in the order of UTF-16 code units. */
type ValueClicks = (Value | number)[];

/**
 * A list for each dimension, in the order of `dimensionNames`; the clicks of each list sum to the number of clicks.
 * It is stored as this array in JSON, so equal documents have equal texts. The last lists, from `targets`, are not stored
 * if no click has a value, as in links without rules. So a new dimension at the end changes no stored document.
 */
export type Document = readonly ValueClicks[];

/** The value of a click in each dimension, in the order of `dimensionNames`. */
export type ClickValues = readonly Value[];

/** The fields of the dimensions, in the order of `dimensionNames`. */
export const dimensionFields = Object.values(dimensions);

export const valuesIn = (
  fields: Readonly<Record<(typeof dimensions)[Dimension], Value>>,
): ClickValues => dimensionFields.map((field) => fields[field]);

export const emptyDocument = (): Document => dimensionNames.map(() => []);

const targets = dimensionNames.indexOf('targets');

const hasValues = (list: ValueClicks = []): boolean =>
  list.some((value) => typeof value === 'string');

export const writeDocument = (document: Document): string => {
  let end = document.length;
  while (end > targets && !hasValues(document[end - 1])) end -= 1;
  return JSON.stringify(document.slice(0, end));
};

export const readDocument = (text: string): Document => {
  const document = JSON.parse(text) as ValueClicks[];
  if (document.length === dimensionNames.length) return document;
  let clicks = 0;
  for (const [index, value] of (document[0] ?? []).entries()) {
    if (index % 2 === 1) clicks += value as number;
  }
  const unrecorded = dimensionNames
    .slice(document.length)
    .map((): ValueClicks => (clicks === 0 ? [] : [null, clicks]));
  return [...document, ...unrecorded];
};

/** The index of the first value that is not less than this one (binary search). */
const indexOfValue = (list: ValueClicks, value: Value): number => {
  if (value === null) return 0;
  let [low, high] = [0, list.length / 2];
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = list[2 * middle] as Value;
    if (at === null || at < value) low = middle + 1;
    else high = middle;
  }
  return 2 * low;
};

const isAt = (list: ValueClicks, index: number, value: Value): boolean =>
  index < list.length && list[index] === value;

const add = (list: ValueClicks, value: Value, clicks: number): void => {
  const index = indexOfValue(list, value);
  if (isAt(list, index, value)) list[index + 1] = (list[index + 1] as number) + clicks;
  else if (index === list.length) list.push(value, clicks);
  else list.splice(index, 0, value, clicks);
};

/** Adds the clicks of `from` to those of `to`. */
export const mergeDocument = (to: Document, from: Document): void => {
  from.forEach((list, dimension) => {
    const into = to[dimension] ?? [];
    for (let at = 0; at < list.length; at += 2) {
      add(into, list[at] as Value, list[at + 1] as number);
    }
  });
};

/**
 * The most values of a dimension in a day, besides `null` and `(other)`. The first ones in the log's order are kept.
 */
export const maxValues = 100;

type DayDocuments = () => readonly Document[];

/** The value, or `(other)` if the day has no room for it. @param day the documents of the day's clicks so far */
const countedAs = (value: Value, dimension: number, day: DayDocuments | null): Value => {
  if (value === null || day === null) return value;
  const lists = day().map((document) => document[dimension] ?? []);
  if (lists.some((list) => isAt(list, indexOfValue(list, value), value))) return value;
  if (lists.reduce((sum, { length }) => sum + length / 2, 0) < maxValues) return value;
  const known = new Set(lists.flatMap((list) => list.filter((_, at) => at % 2 === 0)));
  known.delete(null);
  known.delete(otherValue);
  return known.size < maxValues ? value : otherValue;
};

/**
 * Counts a click in a document. `day` returns the documents with all clicks of its day so far; `null` if the day
 * cannot be full. A value that is `(other)` in a day is `(other)` in its quarters, so that their sums are equal.
 */
export const addClick = (to: Document, values: ClickValues, day: DayDocuments | null): void => {
  for (let dimension = 0; dimension < to.length; dimension += 1) {
    const value = values[dimension] ?? null;
    const list = to[dimension] ?? [];
    const index = indexOfValue(list, value);
    if (isAt(list, index, value)) list[index + 1] = (list[index + 1] as number) + 1;
    else add(list, countedAs(value, dimension, day), 1);
  }
};

/** The sum of documents of many days, each of which may have other values: for each dimension, value → clicks. */
export type DocumentSum = Readonly<Record<Dimension, Map<Value, number>>>;

export const emptySum = (): DocumentSum =>
  Object.fromEntries(dimensionNames.map((name) => [name, new Map()])) as DocumentSum;

export const addToSum = (sum: DocumentSum, document: Document, max = Infinity): void => {
  dimensionNames.forEach((name, dimension) => {
    const [to, list] = [sum[name], document[dimension] ?? []];
    for (let at = 0; at < list.length; at += 2) {
      let value = list[at] as Value;
      if (to.size >= max && !to.has(value)) value = otherValue;
      to.set(value, (to.get(value) ?? 0) + (list[at + 1] as number));
    }
  });
};
