import { TextMap } from '../../ops/platform/text-map.js';

/** The longest text in the cache (characters). Longer texts are rare, and would take much memory. */
const maxLength = 512;

/** A pure function of a text whose results for the newest short texts are cached. */
export interface Memoized<Value> {
  (text: string): Value;
  /** The results of many texts, which is faster than one call for each: see `TextMap`. */
  getAll(texts: readonly string[]): readonly Value[];
}

export const memoize = <Value>(
  compute: (text: string) => Value,
  maxTexts = 2_000,
): Memoized<Value> => {
  interface Known {
    readonly text: string;
    readonly value: Value;
  }
  const known = new TextMap<Known>(({ text }) => text);
  let oldest = 0;

  const add = (text: string): Value => {
    const value = compute(text);
    if (text.length > maxLength) return value;
    const old = known.size === maxTexts ? known.at(oldest) : undefined;
    if (old) {
      known.delete(old);
      oldest = (oldest + 1) % maxTexts;
    }
    known.add({ text, value });
    return value;
  };
  const get = (text: string): Value => {
    const found = known.get(text);
    return found ? found.value : add(text);
  };
  const getAll = (texts: readonly string[]): readonly Value[] =>
    known.getAll(texts).map((found, index) => (found ? found.value : get(texts[index] ?? '')));
  return Object.assign(get, { getAll });
};
