import { setTimeout as sleep } from 'node:timers/promises';

/** Pauses between tries, in milliseconds. */
export interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
}

const usualPauses: Pauses = { firstMs: 50, longestMs: 1_000 };

/** Pauses that double from the first to the longest one, until a success resets them. */
export class Backoff {
  readonly #pauses: Pauses;
  #nextMs: number;

  constructor(pauses: Pauses = usualPauses) {
    this.#pauses = pauses;
    this.#nextMs = pauses.firstMs;
  }

  /** How long to wait before the next try. */
  next(): number {
    const ms = this.#nextMs;
    this.#nextMs = Math.min(ms * 2, this.#pauses.longestMs);
    return ms;
  }

  reset(): void {
    this.#nextMs = this.#pauses.firstMs;
  }

  /** Waits for the next pause. @throws AbortError, with the signal's reason as its cause */
  async pause(signal?: AbortSignal): Promise<void> {
    await sleep(this.next(), undefined, { signal });
  }
}

export interface RetryOptions {
  readonly pauses?: Pauses;
  /** A try that failed after so many milliseconds counts as a success: the pauses begin anew. */
  readonly steadyMs?: number;
  /** Tries in all; without end unless given. */
  readonly attempts?: number;
  /** Ends it: no further try, and no further pause. A try that is running is awaited. */
  readonly signal?: AbortSignal;
  /** Whether another try can help; it can unless given. */
  readonly isRetryable?: (error: unknown) => boolean;
  readonly onFailure?: (error: unknown) => void;
}

/**
 * Tries until it succeeds. Each pause is shortened at random by up to half, so that many processes do
 * not come back at the same instant.
 *
 * @throws the last failure, when no try is left or none can help; the signal's reason, or an
 *   AbortError with it as its cause
 */
export const retry = async <Value>(
  attempt: () => Promise<Value>,
  options: RetryOptions = {},
): Promise<Value> => {
  const { attempts = Infinity, steadyMs = Infinity, signal, isRetryable, onFailure } = options;
  const backoff = new Backoff(options.pauses);
  for (let tried = 1; ; tried += 1) {
    signal?.throwIfAborted();
    const startedAt = performance.now();
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (tried >= attempts || isRetryable?.(error) === false) throw error;
      onFailure?.(error);
      if (performance.now() - startedAt >= steadyMs) backoff.reset();
    }
    await sleep(backoff.next() * (1 - Math.random() / 2), undefined, { signal });
  }
};
