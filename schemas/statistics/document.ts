/**
 * The clicks of a quarter of an hour, a day or a month by the values that their events recorded: for each
 * dimension, value → clicks. `null`: not recorded.
 */

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

export type Value = string | null;
export type ValueClicks = Map<Value, number>;

/** The sum of the clicks of each dimension is the number of clicks. */
export type Document = Readonly<Record<Dimension, ValueClicks>>;

export type ClickValues = Readonly<Record<DimensionField, Value>>;

export const emptyDocument = (): Document => ({
  referrers: new Map(),
  countries: new Map(),
  browsers: new Map(),
  os: new Map(),
  devices: new Map(),
  languages: new Map(),
  triggers: new Map(),
});

const add = (to: ValueClicks, value: Value, clicks: number): void => {
  to.set(value, (to.get(value) ?? 0) + clicks);
};

/** Adds the clicks of `from` to those of `to`. */
export const mergeDocument = (to: Document, from: Document): void => {
  for (const name of dimensionNames) {
    for (const [value, clicks] of from[name]) add(to[name], value, clicks);
  }
};

/** Values of a dimension that a day keeps, `null` and `(other)` apart: the first ones in the log's order. */
const keptValues = 100;

/** What a value counts as, in a day whose clicks so far these documents have. */
const keptAs = (value: Value, name: Dimension, day: readonly Document[]): Value => {
  if (value === null || day.some((document) => document[name].has(value))) return value;
  if (day.reduce((sum, document) => sum + document[name].size, 0) < keptValues) return value;
  const known = new Set(day.flatMap((document) => [...document[name].keys()]));
  known.delete(null);
  known.delete(otherValue);
  return known.size < keptValues ? value : otherValue;
};

/**
 * Counts a click in a document. `day` are the documents that together have the clicks of its day so far:
 * what is `(other)` in a day is so in its quarters, so that their sums agree.
 */
export const addClick = (to: Document, values: ClickValues, day: readonly Document[]): void => {
  for (const name of dimensionNames) {
    add(to[name], keptAs(values[dimensions[name]], name, day), 1);
  }
};

const compareValues = (a: Value, b: Value): number => {
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : 1;
};

/**
 * The document as text: a JSON array with an array for each dimension, `[value, clicks, value, clicks …]`,
 * `null` first and then in the order of UTF-16 code units. Equal documents have equal texts.
 */
export const writeDocument = (document: Document): string =>
  JSON.stringify(
    dimensionNames.map((name) => {
      const list: (Value | number)[] = [];
      for (const value of [...document[name].keys()].sort(compareValues)) {
        list.push(value, document[name].get(value) ?? 0);
      }
      return list;
    }),
  );

/** Adds the clicks of what `writeDocument` wrote to those of `to`: sooner than to read and merge it. */
export const mergeWritten = (to: Document, text: string): void => {
  const lists = JSON.parse(text) as readonly (readonly (Value | number)[])[];
  dimensionNames.forEach((name, index) => {
    const list = lists[index] ?? [];
    for (let at = 0; at < list.length; at += 2) {
      add(to[name], list[at] as Value, list[at + 1] as number);
    }
  });
};

/** Reads what `writeDocument` wrote. */
export const readDocument = (text: string): Document => {
  const document = emptyDocument();
  mergeWritten(document, text);
  return document;
};
