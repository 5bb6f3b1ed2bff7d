/** The letter that a digit looks like. `1` also looks like `i`. */
const lookAlikes: Readonly<Record<string, string>> = {
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

/** A word in normalised form. */
interface Normalised {
  /** Lower case, without separators, with look-alike digits replaced; `i`, `l` and `1` are `l`. */
  readonly shape: string;
  /** `shape` with `i` and `l` as written; `?` if a character may be either. */
  readonly strict: string;
  /** For each character of `shape`, whether it was written as a digit. */
  readonly digits: readonly boolean[];
  /** The positions in `shape` where a part of the word starts or ends. */
  readonly bounds: ReadonlySet<number>;
}

const normalise = (alias: string): Normalised => {
  // A capital I looks like an l only among lower-case letters (`paypaI`): DELI does not look like DELL.
  const hasLowerCase = /[a-z]/.test(alias);
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
    const base = lookAlikes[lowered] ?? lowered;
    const either = character === '1' || (character === 'I' && hasLowerCase);
    const isDigit = base !== lowered;
    // Digits at the edge of a word are often not letters (`paypal1-login`).
    if (isDigit) bounds.add(shape.length).add(shape.length + 1);
    shape += base === 'i' ? 'l' : base;
    strict += either ? '?' : base;
    digits.push(isDigit);
  }
  bounds.add(shape.length);
  return { shape, strict, digits, bounds };
};

interface WordIndex {
  /** Whether the characters from `start` to `end` (exclusive) are one of the words. */
  has(word: Normalised, start: number, end: number): boolean;
  /** The length of the longest word. */
  readonly longest: number;
}

const agrees = (word: Normalised, start: number, strict: string): boolean => {
  for (let at = 0; at < strict.length; at += 1) {
    const actual = word.strict[start + at];
    const expected = strict[at];
    if (actual !== expected && actual !== '?' && expected !== '?') return false;
  }
  return true;
};

const indexWords = (words: readonly string[]): WordIndex => {
  const byShape = new Map<string, string[]>();
  let longest = 0;
  for (const word of words) {
    const { shape, strict } = normalise(word.toLowerCase().replace(separators, ''));
    const same = byShape.get(shape);
    if (same) same.push(strict);
    else byShape.set(shape, [strict]);
    longest = Math.max(longest, shape.length);
  }
  return {
    longest,
    has(word, start, end) {
      const found = byShape.get(word.shape.slice(start, end));
      return found?.some((strict) => agrees(word, start, strict)) ?? false;
    },
  };
};

/** The parts of a malicious pattern found so far, as a bit set. */
const name = 1;
const lure = 2;
const nameAndLure = name | lure;

interface MaliciousPattern {
  /** Brands and governments. */
  readonly names: WordIndex;
  /** Actions that a phishing page requests: `login`, `verify` … */
  readonly lures: WordIndex;
  /** Words that may be between and around them. */
  readonly fillers: WordIndex;
  /** Whether the pattern must match the whole alias. */
  readonly isWhole: boolean;
}

/**
 * Whether an alias contains a name and a lure, in either order, with only fillers, digits and separators between them.
 * The match must start and end at bounds, so `pineapple-support` does not match `apple`.
 */
const matches = (alias: Normalised, pattern: MaliciousPattern): boolean => {
  const { shape, digits } = alias;
  const { names, lures, fillers, isWhole } = pattern;
  const bounds = isWhole ? new Set([0, shape.length]) : alias.bounds;
  const longest = Math.max(names.longest, lures.longest, fillers.longest);
  // For each position, the sets of parts found on the paths to it: bit n stands for the set n.
  const paths = Array.from({ length: shape.length + 1 }, (_, at): number =>
    bounds.has(at) ? 1 : 0,
  );
  const reach = (at: number, from: number, part: number): void => {
    for (let set = 0; set <= nameAndLure; set += 1) {
      if (from & (1 << set)) paths[at] = (paths[at] ?? 0) | (1 << (set | part));
    }
  };
  for (let start = 0; start < shape.length; start += 1) {
    const from = paths[start] ?? 0;
    if (from === 0) continue;
    if (digits[start]) reach(start + 1, from, 0);
    for (let end = start + 2; end <= Math.min(shape.length, start + longest); end += 1) {
      if (names.has(alias, start, end)) reach(end, from, name);
      if (lures.has(alias, start, end)) reach(end, from, lure);
      if (fillers.has(alias, start, end)) reach(end, from, 0);
    }
  }
  return paths.some((sets, at) => bounds.has(at) && (sets & (1 << nameAndLure)) !== 0);
};

/** The reserved list. Case and separators of its words do not matter. */
export interface ReservedWords {
  readonly systemRoutes: readonly string[];
  readonly brands: readonly string[];
  readonly governments: readonly string[];
  /** Brands and governments that are also ordinary words: `visa`, `windows`. */
  readonly ordinaryNames: readonly string[];
  /** Lures for credentials: `login`, `account`. */
  readonly loginWords: readonly string[];
  /** Other lures: `support`, `refund`. */
  readonly lures: readonly string[];
  readonly fillers: readonly string[];
  /** Fillers that start a phrase: `of`, `to`. */
  readonly prepositions: readonly string[];
}

export type Reservation = 'systemRoute' | 'brand' | 'government' | 'maliciousPattern';

/** Why an alias is reserved; `null` if it is not. The caller checks for an override. */
type FindReservation = (alias: string) => Reservation | null;

const isVersion = /^v\d+$/;

/** Routes, brands and governments match whole aliases; malicious patterns may match a part. */
export const reservedAliases = (words: ReservedWords): FindReservation => {
  const whole = (
    [
      ['systemRoute', words.systemRoutes],
      ['brand', words.brands],
      ['government', words.governments],
    ] as const
  ).map(([reservation, list]) => ({ reservation, index: indexWords(list) }));
  const ordinary = new Set(words.ordinaryNames);
  const names = [...words.brands, ...words.governments];
  const distinctNames = indexWords(names.filter((name) => !ordinary.has(name)));
  const lures = indexWords([...words.loginWords, ...words.lures]);
  const fillersInPhrases = indexWords([...words.fillers, ...words.prepositions]);
  const patterns: readonly MaliciousPattern[] = [
    { names: distinctNames, lures, fillers: indexWords(words.fillers), isWhole: false },
    // After a preposition, a name may belong to the next word: `account-of-amazon-river`.
    { names: distinctNames, lures, fillers: fillersInPhrases, isWhole: true },
    // `visa-support` and `windows-update` are legitimate.
    {
      names: indexWords(words.ordinaryNames),
      lures: indexWords(words.loginWords),
      fillers: fillersInPhrases,
      isWhole: true,
    },
  ];

  return (alias) => {
    if (isVersion.test(alias.toLowerCase().replace(/[-_]/g, ''))) return 'systemRoute';
    const word = normalise(alias);
    const found = whole.find(({ index }) => index.has(word, 0, word.shape.length));
    if (found) return found.reservation;
    return patterns.some((pattern) => matches(word, pattern)) ? 'maliciousPattern' : null;
  };
};
