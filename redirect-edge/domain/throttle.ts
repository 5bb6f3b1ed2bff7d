/** Wrong tries that a client has at a link before the first wait. */
const freeTries = 5;
/** The waits after the fifth wrong try and the sixth; after every later one it is the last. */
const waitsMs: readonly number[] = [10_000, 20_000, 30_000];

/** Without a wrong try for so long, the earlier ones are forgotten. */
export const forgetAfterMs = 60_000;
/** A check that was not settled by then died with its process: it counts as a wrong try. */
export const checkMs = 15_000;

/** What a client may do at a link after a number of wrong tries. */
export interface Step {
  /** From the last wrong try until the next may be made. */
  readonly waitMs: number;
  /** Tries that may be in hand at once: all of them may turn out wrong. */
  readonly tries: number;
}

/**
 * The steps after 0, 1, 2 … wrong tries; the last one holds for all that follow.
 *
 * So five wrong tries a minute are free. Whoever goes on waits 10, 20, then always 30 s for a single
 * try: two a minute, for ever.
 */
export const steps: readonly Step[] = [
  ...Array.from({ length: freeTries }, (_, wrong) => ({ waitMs: 0, tries: freeTries - wrong })),
  ...waitsMs.map((waitMs) => ({ waitMs, tries: 1 })),
];

/** For `Retry-After`: whole seconds, never too early. */
export const retryAfterSeconds = (waitMs: number): number => Math.max(1, Math.ceil(waitMs / 1_000));
