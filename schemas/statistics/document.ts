/** The clicks of a quarter of an hour, a day or a month by the values that their events recorded. */

/** What clicks are told apart by: the name in answers, and the field of LinkVisited. */
export const dimensions = {
  referrers: 'referrer',
  countries: 'country',
  browsers: 'browser',
  os: 'os',
  devices: 'device',
  languages: 'language',
  triggers: 'trigger',
} as const;

export type Dimension = keyof typeof dimensions;
export type DimensionField = (typeof dimensions)[Dimension];

export const dimensionNames = Object.keys(dimensions) as readonly Dimension[];

/** All the values beyond those that are kept. Its clicks are the clicks of a referrer of this name, too. */
export const otherValue = '(other)';

/** `null`: not recorded. */
export type Value = string | null;

/** `[value, clicks, value, clicks …]`: `null` first, then in the order of UTF-16 code units. */
export type ValueClicks = (Value | number)[];

/**
 * A list for each dimension, in the order of `dimensionNames`; the clicks of each list sum to the number of clicks.
 * As text it is this array in JSON, so equal documents have equal texts.
 */
export type Document = readonly ValueClicks[];

/** What a click has in each dimension, in the order of `dimensionNames`. */
export type ClickValues = readonly Value[];

export const valuesIn = (fields: Readonly<Record<DimensionField, Value>>): ClickValues =>
  dimensionNames.map((name) => fields[dimensions[name]]);

export const emptyDocument = (): Document => dimensionNames.map(() => []);

export const writeDocument = (document: Document): string => JSON.stringify(document);

export const readDocument = (text: string): Document => JSON.parse(text) as Document;

/** The place of the first value that is not before this one, by bisection. */
const placeOf = (list: ValueClicks, value: Value): number => {
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

const isAt = (list: ValueClicks, place: number, value: Value): boolean =>
  place < list.length && list[place] === value;

const add = (list: ValueClicks, value: Value, clicks: number): void => {
  const place = placeOf(list, value);
  if (isAt(list, place, value)) list[place + 1] = (list[place + 1] as number) + clicks;
  else if (place === list.length) list.push(value, clicks);
  else list.splice(place, 0, value, clicks);
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

/** Values of a dimension that a day keeps, `null` and `(other)` apart: the first ones in the log's order. */
export const keptValues = 100;

type DayDocuments = () => readonly Document[];

/** What a value counts as, in a day whose clicks so far these documents have. */
const keptAs = (value: Value, dimension: number, day: DayDocuments | null): Value => {
  if (value === null || day === null) return value;
  const lists = day().map((document) => document[dimension] ?? []);
  if (lists.some((list) => isAt(list, placeOf(list, value), value))) return value;
  if (lists.reduce((sum, { length }) => sum + length / 2, 0) < keptValues) return value;
  const known = new Set(lists.flatMap((list) => list.filter((_, at) => at % 2 === 0)));
  known.delete(null);
  known.delete(otherValue);
  return known.size < keptValues ? value : otherValue;
};

/**
 * Counts a click in a document. `day` gives the documents that together have the clicks of its day so far; `null` where
 * it cannot be full. What is `(other)` in a day is so in its quarters, so that their sums agree.
 */
export const addClick = (to: Document, values: ClickValues, day: DayDocuments | null): void => {
  for (let dimension = 0; dimension < to.length; dimension += 1) {
    const value = values[dimension] ?? null;
    const list = to[dimension] ?? [];
    const place = placeOf(list, value);
    if (isAt(list, place, value)) list[place + 1] = (list[place + 1] as number) + 1;
    else add(list, keptAs(value, dimension, day), 1);
  }
};

/** The sum of documents of many days, each of which may have other values: for each dimension, value → clicks. */
export type DocumentSum = Readonly<Record<Dimension, Map<Value, number>>>;

export const emptySum = (): DocumentSum => ({
  referrers: new Map(),
  countries: new Map(),
  browsers: new Map(),
  os: new Map(),
  devices: new Map(),
  languages: new Map(),
  triggers: new Map(),
});

export const addToSum = (sum: DocumentSum, document: Document): void => {
  dimensionNames.forEach((name, dimension) => {
    const [to, list] = [sum[name], document[dimension] ?? []];
    for (let at = 0; at < list.length; at += 2) {
      const value = list[at] as Value;
      to.set(value, (to.get(value) ?? 0) + (list[at + 1] as number));
    }
  });
};
