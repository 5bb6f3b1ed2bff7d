/** The longest wait in `Retry-After`. */
const maxRetryAfterMs = 30_000;

/**
 * The value of `Retry-After`: whole seconds, at least 1.
 *
 * After five wrong attempts, a client is throttled for a minute, but `Retry-After` is at most 30 s. After the first 30 s,
 * it gets the remaining wait.
 */
export const retryAfterSeconds = (waitMs: number): number =>
  Math.max(1, Math.ceil(Math.min(waitMs, maxRetryAfterMs) / 1_000));
