import { BoundedMap } from '../platform/bounded-map.js';

/** The longest text in the cache (characters). Longer texts are rare, and would take much memory. */
const maxLength = 512;

/** Caches the results of a pure function for the newest short texts. */
export const memoize = <Value extends object | string | null>(
  compute: (text: string) => Value,
  maxTexts = 2_000,
): ((text: string) => Value) => {
  const known = new BoundedMap<string, Value>(maxTexts);
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const value = compute(text);
    if (text.length <= maxLength) known.set(text, value);
    return value;
  };
};
