import type { Sample } from '../metrics/figure.js';

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
