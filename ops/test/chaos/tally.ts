/** What became of what the load has sent. Counts only ever rise. */
export interface Tally {
  /** Answers 201. */
  created: number;
  /** Answers 302. */
  visited: number;
  /** Refused by a limit: 429, and 410 of a link that is used up. */
  limited: number;
  /** Changes by operators and owners that were acknowledged. */
  changed: number;
  /** Refused for a while, by 503. */
  apiRefused: number;
  edgeRefused: number;
  /** Answers of 5xx that are not 503. */
  serverErrors: number;
  /** Requests whose connection was lost, and those that no node took. */
  lost: number;
  lostVisits: number;
}

export const newTally = (): Tally => ({
  created: 0,
  visited: 0,
  limited: 0,
  changed: 0,
  apiRefused: 0,
  edgeRefused: 0,
  serverErrors: 0,
  lost: 0,
  lostVisits: 0,
});

/** What was counted since `before`. */
export const since = (before: Tally, now: Tally): Tally => {
  const names = Object.keys(now) as (keyof Tally)[];
  return Object.fromEntries(
    names.map((name) => [name, now[name] - before[name]]),
  ) as unknown as Tally;
};

export const sum = (tallies: readonly Tally[]): Tally => {
  const total = newTally();
  const names = Object.keys(total) as (keyof Tally)[];
  for (const tally of tallies) for (const name of names) total[name] += tally[name];
  return total;
};
