/** Random numbers that a seed gives again, so that a failing run can be run once more. */
export interface Random {
  /** From `low` up to, not including, `high`. */
  between(low: number, high: number): number;
  /** A whole number from 0 up to, not including, `count`. */
  below(count: number): number;
}

/** Mulberry32: 32 bits of state are plenty for choosing moments. */
export const seededRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    between: (low, high) => low + next() * (high - low),
    below: (count) => Math.floor(next() * count),
  };
};
