/**
 * A scan over the live links, oldest first, in pages. All nodes share it: its place is a row in the
 * database, and whoever has a lease takes the next page.
 */
export interface Scan {
  readonly name: string;
  /** It sees links of at least this age. */
  readonly ageMs: number;
  /** From one full page to the next: 0 where nothing is to be spared. */
  readonly paceMs: number;
  /** When it has come to the last link: how long it rests; `null` where that was its end. */
  readonly restMs: number | null;
  /** Whether it begins at the oldest link again after its rest, or waits for new ones. */
  readonly again: boolean;
  /** What is asked about each link. */
  readonly asks: 'blocklist' | 'everybody';
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Follows the youngest links up to an age: each is seen once, at that age or a twelfth later. */
const atAge = (name: string, ageMs: number): Scan => ({
  name,
  ageMs,
  paceMs: 0,
  restMs: ageMs / 12,
  again: false,
  asks: 'everybody',
});

/**
 * Young links soon and often: an attack begins right after its link was made, and lists hear of it
 * minutes or hours later. All links every three days, at one page in ten seconds, which is less than
 * Google's 10,000 free calls a day however many links there are.
 */
export const recheckSchedule: readonly Scan[] = [
  atAge('1 minute', minuteMs),
  atAge('10 minutes', 10 * minuteMs),
  atAge('1 hour', hourMs),
  atAge('1 day', dayMs),
  {
    name: 'every 3 days',
    ageMs: dayMs,
    paceMs: 10 * secondMs,
    restMs: 3 * dayMs,
    again: true,
    asks: 'everybody',
  },
];

/**
 * All live links once, at once, when a blocklist was not seen before. Those that are too young for it
 * were made under that list, or are seen a minute later: another node may not have read it yet.
 */
export const blocklistScan = (version: string): Scan => ({
  name: `blocklist ${version}`,
  ageMs: 0,
  paceMs: 0,
  restMs: null,
  again: false,
  asks: 'blocklist',
});
