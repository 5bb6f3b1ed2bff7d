import { AbortError, ConnectionError, LinklogError, TimeoutError } from './errors.js';
import type { Signal } from './standards.js';

export const isTransient = (error: unknown, isTransientStatus: (status: number) => boolean) =>
  error instanceof LinklogError
    ? isTransientStatus(error.status)
    : error instanceof ConnectionError || error instanceof TimeoutError;

/** The delay of the next attempt (ms): `Retry-After`, otherwise 0.5 to 5 s, random. `null`: too long. */
export const retryDelayMs = (error: unknown, failures: number): number | null => {
  const { retryAfter = null, isQuota = false } = error instanceof LinklogError ? error : {};
  if (isQuota || Number(retryAfter) > 120) return null;
  if (retryAfter !== null) return retryAfter * 1_000;
  return 500 + Math.random() * (Math.min(5_000, 1_000 * 2 ** failures) - 500);
};

/** Waits. @throws AbortError as soon as the signal is aborted */
export const pause = (ms: number, signal: Signal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted === true) reject(new AbortError(signal.reason));
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
