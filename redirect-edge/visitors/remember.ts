import { TextMap } from '../../ops/platform/text-map.js';

/** Characters of a text that is remembered. Longer ones are rare, and would make memory large. */
const maxLength = 512;

/** What a pure function makes of texts; of the newest, where they are short, it is remembered. */
export interface Remembered<Value> {
  (text: string): Value;
  /** Of many at once, which is faster: see `TextMap`. */
  all(texts: readonly string[]): readonly Value[];
}

export const remember = <Value>(
  judge: (text: string) => Value,
  maxTexts = 2_000,
): Remembered<Value> => {
  interface Known {
    readonly text: string;
    readonly value: Value;
  }
  const known = new TextMap<Known>(({ text }) => text);
  let oldest = 0;

  const add = (text: string): Value => {
    const value = judge(text);
    if (text.length > maxLength) return value;
    const old = known.size === maxTexts ? known.at(oldest) : undefined;
    if (old) {
      // The new one takes its place.
      known.delete(old);
      oldest = (oldest + 1) % maxTexts;
    }
    known.add({ text, value });
    return value;
  };
  const of = (text: string): Value => {
    const found = known.get(text);
    return found ? found.value : add(text);
  };
  const all = (texts: readonly string[]): readonly Value[] =>
    known.getAll(texts).map((found, index) => (found ? found.value : of(texts[index] ?? '')));
  return Object.assign(of, { all });
};
