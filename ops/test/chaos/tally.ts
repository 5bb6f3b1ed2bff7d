/** Counts of the load's requests by outcome. */
export interface Tally {
  /** Responses 201. */
  created: number;
  /** Responses 302. */
  visited: number;
  /** Refused by a limit: 429, or 410 of a link whose clicks are used up. */
  limited: number;
  /** Acknowledged changes by operators and owners. */
  changed: number;
  /** Responses 503. */
  apiRefused: number;
  edgeRefused: number;
  /** Responses 5xx other than 503. */
  serverErrors: number;
  /** Requests with a lost connection, or refused by all nodes. */
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

/** The difference of two tallies. */
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
