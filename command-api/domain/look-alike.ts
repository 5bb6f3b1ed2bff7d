/** What a digit is read as in the middle of a word; `1` is read as `i` or as `l`. */
const readAs: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'l',
  '2': 'z',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '6': 'g',
  '7': 't',
  '8': 'b',
  '9': 'g',
};

const separators = /[-_]/g;

/** How a word is read: by shape, where `i`, `l` and `1` are one. */
interface Reading {
  /** One letter for each of the word's, separators left out. */
  readonly shape: string;
  /** Beside it: `i` or `l` where it must be just that one, `?` where it may be either. */
  readonly strict: string;
  /** Beside it: whether it was written as a digit. */
  readonly digits: readonly boolean[];
  /** Positions in `shape`, its length included, at which a part of the word begins or ends. */
  readonly bounds: ReadonlySet<number>;
}

/** How an alias is read by a person: whatever its case, look-alike digits and separators. */
export const readAlias = (alias: string): Reading => {
  // A capital I passes for an l only among small letters (`paypaI`): in DELI nobody reads DELL.
  const hasSmall = /[a-z]/.test(alias);
  let shape = '';
  let strict = '';
  const digits: boolean[] = [];
  const bounds = new Set([0]);
  for (const character of alias) {
    if (character === '-' || character === '_') {
      bounds.add(shape.length);
      continue;
    }
    const lowered = character.toLowerCase();
    const letter = readAs[lowered] ?? lowered;
    const either = character === '1' || (character === 'I' && hasSmall);
    const isDigit = letter !== lowered;
    // Digits at the edge of a word are often no letters at all (`paypal1-login`).
    if (isDigit) bounds.add(shape.length).add(shape.length + 1);
    shape += letter === 'i' ? 'l' : letter;
    strict += either ? '?' : letter;
    digits.push(isDigit);
  }
  bounds.add(shape.length);
  return { shape, strict, digits, bounds };
};

/** Words that can be found in what was read. */
export interface WordIndex {
  /** Whether one of the words stands from `start` to `end` (exclusive). */
  has(reading: Reading, start: number, end: number): boolean;
  /** The length of the longest word. */
  readonly longest: number;
}

const agrees = (reading: Reading, start: number, strict: string): boolean => {
  for (let at = 0; at < strict.length; at += 1) {
    const asked = reading.strict[start + at];
    const wanted = strict[at];
    if (asked !== wanted && asked !== '?' && wanted !== '?') return false;
  }
  return true;
};

export const indexWords = (words: readonly string[]): WordIndex => {
  const byShape = new Map<string, string[]>();
  let longest = 0;
  for (const word of words) {
    const { shape, strict } = readAlias(word.toLowerCase().replace(separators, ''));
    const same = byShape.get(shape);
    if (same) same.push(strict);
    else byShape.set(shape, [strict]);
    longest = Math.max(longest, shape.length);
  }
  return {
    longest,
    has(reading, start, end) {
      const found = byShape.get(reading.shape.slice(start, end));
      return found?.some((strict) => agrees(reading, start, strict)) ?? false;
    },
  };
};

export type { Reading };
