import { deferred } from './deferred.js';

/** Work was not done in time. It may still take effect. */
export class DeadlinePassed extends Error {
  readonly code = 'DEADLINE_PASSED';

  constructor(ms: number) {
    super(`not done within ${ms} ms`);
  }
}

/** Awaits a promise outside the deadline: a client's body, or work that is slow by intent. */
export type Uncounted = <Value>(wait: Promise<Value>) => Promise<Value>;

/**
 * Awaits work for `ms` in all: many statements, each in time, may take too long together. The result or failure of late
 * work is dropped. Time in which at least one `uncounted` wait lasts does not count.
 *
 * @throws DeadlinePassed, and what the work throws in time
 */
export const withinDeadline = async <Value>(
  ms: number,
  work: (uncounted: Uncounted) => Promise<Value>,
): Promise<Value> => {
  const passed = deferred<never>();
  let endsAt = performance.now() + ms;
  let pauses = 0;
  let pausedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  /** A pause does not touch the timer: thousands of requests set one each, and hardly any timer fires. */
  const check = (): void => {
    timer = undefined;
    if (pauses > 0) return;
    const leftMs = endsAt - performance.now();
    if (leftMs > 0) {
      timer = setTimeout(check, Math.ceil(leftMs));
      return;
    }
    // This process may have been suspended: responses that have arrived meanwhile are read before this is called.
    setImmediate(() => {
      passed.reject(new DeadlinePassed(ms));
    });
  };
  const uncounted: Uncounted = async (wait) => {
    if (pauses === 0) pausedAt = performance.now();
    pauses += 1;
    try {
      return await wait;
    } finally {
      pauses -= 1;
      if (pauses === 0) endsAt += performance.now() - pausedAt;
      if (!timer) check();
    }
  };
  timer = setTimeout(check, ms);
  try {
    return await Promise.race([work(uncounted), passed.promise]);
  } finally {
    clearTimeout(timer);
  }
};
