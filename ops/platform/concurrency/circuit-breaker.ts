import type { Sample } from '../metrics/figure.js';

const states = ['closed', 'open', 'probing'] as const;

export type BreakerState = (typeof states)[number];

/** For a gauge of the state: 1 for the current one, 0 for the others. */
export const breakerSamples = (current: BreakerState): readonly Sample[] =>
  states.map((state) => [{ state }, state === current ? 1 : 0]);

type State =
  | { readonly status: 'closed'; readonly failures: number }
  | { readonly status: 'open'; readonly until: number }
  | { readonly status: 'probing' };

/** After some failures in a row, permits no calls for a while: callers need not wait for them. */
export const createCircuitBreaker = (options: {
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly pauseMs: number;
  /** Milliseconds of a clock that never goes back. */
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
    /** Whether a call may be made now; the one that ends a pause is the probe, and alone. */
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
