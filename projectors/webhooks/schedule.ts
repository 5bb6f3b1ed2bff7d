const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** The pauses after the failed attempts of a delivery (ms): see the contract. */
const retryDelaysMs: readonly number[] = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
];

/** The pauses are longer or shorter by up to this part, so that retries of many deliveries spread. */
const jitter = 0.2;

/** The longest pause that a receiver may request (ms). */
const maxRetryAfterMs = 24 * hourMs;

/** A webhook whose deliveries have failed for so long without a success is disabled (ms). */
export const disableAfterMs = 5 * 24 * hourMs;

/** Reads `Retry-After`: seconds, or a date. Returns milliseconds from `now`; 0 for other texts. */
const readRetryAfter = (text: string | null, now: Date): number => {
  if (text === null) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * secondMs : Date.parse(text) - now.getTime();
  return Number.isNaN(ms) ? 0 : Math.min(ms, maxRetryAfterMs);
};

/**
 * When to try again after a failed attempt; `null` after the last one.
 *
 * @param attempts so far
 * @param random from 0 to 1
 */
export const nextAttemptAt = (
  attempts: number,
  now: Date,
  retryAfter: string | null,
  random: number,
): Date | null => {
  const delayMs = retryDelaysMs[attempts - 1];
  if (delayMs === undefined) return null;
  const spreadMs = delayMs * (1 + jitter * (2 * random - 1));
  return new Date(now.getTime() + Math.max(spreadMs, readRetryAfter(retryAfter, now)));
};
