/** Wrong tries of a client at a link that any minute may hold: not one more, whenever it begins. */
export const maxWrong = 5;
export const windowMs = 60_000;
/** A check that was not settled by then died with its process: it counts as a wrong try. */
export const checkMs = 15_000;

/** No client is told to wait longer. */
const maxToldMs = 30_000;

/**
 * For `Retry-After`: whole seconds, never 0.
 *
 * Whoever guesses wrong five times at once may not guess again for a minute, yet nobody is to be told
 * more than 30 s. No rule keeps both and lets in everyone who has waited what he was told: the sixth
 * guess would come after 30 s. It is the bound on guesses that protects the link, so that one is exact;
 * who comes back before the minute is over is told the rest, and is let in then.
 */
export const retryAfterSeconds = (waitMs: number): number =>
  Math.max(1, Math.ceil(Math.min(waitMs, maxToldMs) / 1_000));
