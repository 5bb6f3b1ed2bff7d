import { BoundedMap } from '../../ops/platform/bounded-map.js';

/** Characters of a text that is remembered. Longer ones are rare, and would make memory large. */
const maxLength = 512;

/** Remembers what a pure function makes of texts: of the newest, where they are short. */
export const remember = <Value>(
  judge: (text: string) => Value,
  maxTexts = 2_000,
): ((text: string) => Value) => {
  const known = new BoundedMap<string, Value>(maxTexts);
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const value = judge(text);
    if (text.length <= maxLength) known.set(text, value);
    return value;
  };
};
