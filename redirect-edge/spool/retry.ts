import { setTimeout as sleep } from 'node:timers/promises';

const firstPauseMs = 50;
const longestPauseMs = 1000;

export interface RetryOptions {
  /** Ends it: no further try, and no further pause. A try that is running is awaited. */
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
}

/** Awaits a promise no longer than until the signal; what comes of it afterwards is dropped. */
export const until = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    const abandon = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abandon, { once: true });
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', abandon);
    });
  });

/**
 * Tries until it succeeds, with pauses that double from 50 ms to 1 s, each shortened at random by
 * up to half, so that many edges do not come back at the same instant.
 *
 * @throws only the signal's reason
 */
export const retry = async <T>(
  attempt: () => Promise<T>,
  { signal, onFailure }: RetryOptions,
): Promise<T> => {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      onFailure(error);
    }
    await sleep(pauseMs * (1 - Math.random() / 2), undefined, { signal });
  }
};
