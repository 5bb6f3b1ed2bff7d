import { setTimeout as sleep } from 'node:timers/promises';
import type { Sample } from '../metrics/figure.js';

/** Pauses between attempts. */
export interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
}

const usualPauses: Pauses = { firstMs: 50, longestMs: 1_000 };

/** Pauses that double up to the longest one, until they are reset. */
export class Backoff {
  readonly #pauses: Pauses;
  #nextMs: number;

  constructor(pauses: Pauses = usualPauses) {
    this.#pauses = pauses;
    this.#nextMs = pauses.firstMs;
  }

  /** Returns the next pause (ms). */
  next(): number {
    const ms = this.#nextMs;
    this.#nextMs = Math.min(ms * 2, this.#pauses.longestMs);
    return ms;
  }

  reset(): void {
    this.#nextMs = this.#pauses.firstMs;
  }

  /** @throws AbortError, with the signal's reason as its cause */
  async pause(signal?: AbortSignal): Promise<void> {
    await sleep(this.next(), undefined, { signal });
  }
}

interface RetryOptions {
  readonly pauses?: Pauses;
  /** An attempt that failed after this time (ms) resets the pauses. */
  readonly steadyMs?: number;
  /** The maximum number of attempts; by default unlimited. */
  readonly attempts?: number;
  /** Ends the pause. The current attempt is awaited. */
  readonly signal?: AbortSignal;
  readonly isRetryable?: (error: unknown) => boolean;
  readonly onFailure?: (error: unknown) => void;
}

/**
 * Retries until an attempt succeeds. Pauses have a jitter of up to one half.
 *
 * @throws the error of the last attempt; the signal's reason, or an AbortError with it as its cause
 */
export const retry = async <Value>(
  attempt: () => Promise<Value>,
  options: RetryOptions = {},
): Promise<Value> => {
  const { attempts = Infinity, steadyMs = Infinity, signal, isRetryable, onFailure } = options;
  const backoff = new Backoff(options.pauses);
  for (let count = 1; ; count += 1) {
    signal?.throwIfAborted();
    const startedAt = performance.now();
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (count >= attempts || isRetryable?.(error) === false) throw error;
      onFailure?.(error);
      if (performance.now() - startedAt >= steadyMs) backoff.reset();
    }
    await sleep(backoff.next() * (1 - Math.random() / 2), undefined, { signal });
  }
};

/** Does the same until the signal is aborted, which is no failure. */
export const retryUntilAborted = (
  attempt: () => Promise<unknown>,
  options: RetryOptions & { readonly signal: AbortSignal },
): Promise<void> =>
  retry(attempt, options).then(
    () => undefined,
    (error: unknown) => {
      if (!options.signal.aborted) throw error;
    },
  );

const states = ['closed', 'open', 'probing'] as const;

export type BreakerState = (typeof states)[number];

/** Samples of a gauge: 1 for the current state, 0 for the others. */
export const breakerSamples = (current: BreakerState): readonly Sample[] =>
  states.map((state) => [{ state }, state === current ? 1 : 0]);

type State =
  | { readonly status: 'closed'; readonly failures: number }
  | { readonly status: 'open'; readonly until: number }
  | { readonly status: 'probing' };

/** Rejects calls for a while after consecutive failures, so that callers do not wait for them. */
export const createCircuitBreaker = (options: {
  /** Consecutive failures that open it. */
  readonly failures: number;
  readonly pauseMs: number;
  /** A monotonic clock (ms). */
  readonly now: () => number;
  readonly onChange: (state: BreakerState) => void;
}) => {
  const { failures, pauseMs, now, onChange } = options;
  let state: State = { status: 'closed', failures: 0 };
  const become = (next: State): void => {
    const changed = next.status !== state.status;
    state = next;
    if (changed) onChange(next.status);
  };
  return {
    /** Whether a call is permitted. The first call after a pause is a probe, and the only call until it ends. */
    permits(): boolean {
      switch (state.status) {
        case 'closed':
          return true;
        case 'probing':
          return false;
        case 'open':
          if (now() < state.until) return false;
          become({ status: 'probing' });
          return true;
        default: {
          const unknown: never = state;
          return unknown;
        }
      }
    },
    succeeded(): void {
      become({ status: 'closed', failures: 0 });
    },
    failed(): void {
      const failed = state.status === 'closed' ? state.failures + 1 : failures;
      if (failed < failures) become({ status: 'closed', failures: failed });
      else become({ status: 'open', until: now() + pauseMs });
    },
  };
};

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;
