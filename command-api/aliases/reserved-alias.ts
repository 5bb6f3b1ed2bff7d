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
const readAlias = (alias: string): Reading => {
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
interface WordIndex {
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

const indexWords = (words: readonly string[]): WordIndex => {
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

/** What has been seen on the way to a position: the bits of a set. */
const name = 1;
const lure = 2;
const both = name | lure;

/** A shape of a deception. */
interface Deception {
  /** Whose trust is borrowed: brands, governments. */
  readonly names: WordIndex;
  /** What the visitor is asked to do: `login`, `verify` … */
  readonly lures: WordIndex;
  /** What may stand between and around them. */
  readonly fillers: WordIndex;
  /** Whether the alias has this shape from its first letter to its last. */
  readonly isWhole: boolean;
}

/**
 * Whether a name stands beside a lure, in either order; between them nothing but fillers, digits and
 * separators. Both ends must be ends of a part of the alias, so `pineapple-support` is not apple's.
 */
const isDeceptive = (reading: Reading, deception: Deception): boolean => {
  const { shape, digits } = reading;
  const { names, lures, fillers, isWhole } = deception;
  const bounds = isWhole ? new Set([0, shape.length]) : reading.bounds;
  const longest = Math.max(names.longest, lures.longest, fillers.longest);
  // For each position, the sets seen on some way to it from a bound: bit n stands for the set n.
  const ways = Array.from({ length: shape.length + 1 }, (_, at): number =>
    bounds.has(at) ? 1 : 0,
  );
  const reach = (at: number, from: number, seen: number): void => {
    for (let set = 0; set <= both; set += 1) {
      if (from & (1 << set)) ways[at] = (ways[at] ?? 0) | (1 << (set | seen));
    }
  };
  for (let start = 0; start < shape.length; start += 1) {
    const from = ways[start] ?? 0;
    if (from === 0) continue;
    if (digits[start]) reach(start + 1, from, 0);
    for (let end = start + 2; end <= Math.min(shape.length, start + longest); end += 1) {
      if (names.has(reading, start, end)) reach(end, from, name);
      if (lures.has(reading, start, end)) reach(end, from, lure);
      if (fillers.has(reading, start, end)) reach(end, from, 0);
    }
  }
  return ways.some((way, at) => bounds.has(at) && (way & (1 << both)) !== 0);
};

/** The words of the reserved list, in any case, with or without separators. */
export interface ReservedWords {
  readonly systemRoutes: readonly string[];
  readonly brands: readonly string[];
  readonly governments: readonly string[];
  /** Those brands and governments whose names are ordinary words, too: `visa`, `windows`. */
  readonly ordinaryNames: readonly string[];
  /** Lures that ask for credentials: `login`, `account`. */
  readonly loginWords: readonly string[];
  /** Other lures: `support`, `refund`. */
  readonly lures: readonly string[];
  readonly fillers: readonly string[];
  /** Fillers that begin a phrase: `of`, `to`. */
  readonly prepositions: readonly string[];
}

export type Reservation = 'systemRoute' | 'brand' | 'government' | 'maliciousPattern';

/**
 * Why nobody may take an alias, or `null` where it is free. Whether an operator lets one account
 * take it all the same is the caller's to ask.
 */
export type FindReservation = (alias: string) => Reservation | null;

const isVersion = /^v\d+$/;

/** Routes, brands and governments are whole aliases; malicious patterns may be parts of one. */
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
  const deceptions: readonly Deception[] = [
    {
      names: distinctNames,
      lures,
      fillers: indexWords(words.fillers),
      isWhole: false,
    },
    // After a preposition a name may belong to the next word: `account-of-amazon-river`.
    { names: distinctNames, lures, fillers: fillersInPhrases, isWhole: true },
    // `visa-support` and `windows-update` are honest.
    {
      names: indexWords(words.ordinaryNames),
      lures: indexWords(words.loginWords),
      fillers: fillersInPhrases,
      isWhole: true,
    },
  ];

  return (alias) => {
    if (isVersion.test(alias.toLowerCase().replace(/[-_]/g, ''))) return 'systemRoute';
    const reading = readAlias(alias);
    const found = whole.find(({ index }) => index.has(reading, 0, reading.shape.length));
    if (found) return found.reservation;
    return deceptions.some((deception) => isDeceptive(reading, deception))
      ? 'maliciousPattern'
      : null;
  };
};
