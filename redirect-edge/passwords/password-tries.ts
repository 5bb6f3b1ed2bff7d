/** Wrong tries that a client may make at a link in any period of `windowMs`. */
export const maxWrong = 5;
export const windowMs = 60_000;
/** After this, a check that was not settled counts as a wrong try: its process has died. */
export const checkMs = 15_000;

/** The longest wait that `Retry-After` names. */
const maxToldMs = 30_000;

/**
 * For `Retry-After`: whole seconds, never 0.
 *
 * After five wrong guesses at once, a client may not guess again for a minute, yet `Retry-After` names
 * at most 30 s. So such a client has to wait twice: when it comes back after 30 s it gets the rest of
 * the wait. The limit protects the link, so the limit is exact, and the first wait named is not.
 */
export const retryAfterSeconds = (waitMs: number): number =>
  Math.max(1, Math.ceil(Math.min(waitMs, maxToldMs) / 1_000));
