import { deferred } from './deferred.js';

/** The work did not end in time. It may still take effect. */
export class DeadlinePassed extends Error {
  readonly code = 'DEADLINE_PASSED';

  constructor(ms: number) {
    super(`not done within ${ms} ms`);
  }
}

/** Awaits a promise whose time does not count: a request body, or a hash that is slow by design. */
export type Uncounted = <Value>(wait: Promise<Value>) => Promise<Value>;

/**
 * Awaits work for at most `ms` in total, without the time of `uncounted` waits. The outcome of late work is ignored.
 *
 * @throws DeadlinePassed; the error of the work
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
  /** A pause keeps the timer, because each of thousands of requests has one and few of them fire. */
  const check = (): void => {
    timer = undefined;
    if (pauses > 0) return;
    const leftMs = endsAt - performance.now();
    if (leftMs > 0) {
      timer = setTimeout(check, Math.ceil(leftMs));
      return;
    }
    // If this process was suspended, it reads the responses that have arrived meanwhile first.
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

/** Awaits a promise for at most `ms`. Returns whether it has resolved or rejected. */
export const endsWithin = (promise: Promise<unknown>, ms: number): Promise<boolean> => {
  const ended = promise.then(
    () => true,
    () => true,
  );
  return withinDeadline(ms, () => ended).catch(() => false);
};
