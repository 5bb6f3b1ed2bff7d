import type { Reading, WordIndex } from './look-alike.js';

/** What has been seen on the way to a position: the bits of a set. */
const name = 1;
const lure = 2;
const both = name | lure;

export interface DeceptiveWords {
  /** Whose trust is borrowed: brands, governments. */
  readonly names: WordIndex;
  /** What the visitor is asked to do: `login`, `verify` … */
  readonly lures: WordIndex;
  /** What may stand between and around them. */
  readonly fillers: WordIndex;
}

/**
 * Whether a name stands beside a lure, in either order; between them nothing but fillers, digits and
 * separators. Both ends must be ends of a part of the alias, so `pineapple-support` is not apple's.
 */
export const isDeceptive = (reading: Reading, words: DeceptiveWords): boolean => {
  const { shape, digits, bounds } = reading;
  const { names, lures, fillers } = words;
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
