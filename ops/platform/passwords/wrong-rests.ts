/** How long a link's checks rest after each. */
export interface WrongRests {
  /** Milliseconds, at least, before the link's next check. */
  after(code: string, right: boolean): number;
}

const stepMs = 25;
const longestMs = 300;
const maxLinks = 10_000;

/**
 * The more wrong passwords in a row, the longer the rest. Visitors who mistype are hardly held up; a
 * flood of guesses gets three hashes a second, less than a tenth of a core. On two cores that counts:
 * who wakes up to answer a redirect may wait some milliseconds for a core on which a hash just began.
 * With too many links all counts are forgotten, and begin anew.
 */
export const createWrongRests = (): WrongRests => {
  const wrongInARow = new Map<string, number>();
  return {
    after(code, right) {
      if (right) {
        wrongInARow.delete(code);
        return 0;
      }
      if (wrongInARow.size >= maxLinks) wrongInARow.clear();
      const times = (wrongInARow.get(code) ?? 0) + 1;
      wrongInARow.set(code, times);
      return Math.min(times * stepMs, longestMs);
    },
  };
};
