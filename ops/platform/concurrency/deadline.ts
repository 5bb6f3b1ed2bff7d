import { Countdown } from './countdown.js';
import { deferred } from './deferred.js';

/** Work that somebody waits for was not done in time. It may still take effect. */
export class DeadlinePassed extends Error {
  readonly code = 'DEADLINE_PASSED';

  constructor(ms: number) {
    super(`not done within ${ms} ms`);
  }
}

/** Awaits something that the deadline does not count: a client's body, or work that is slow by intent. */
export type Uncounted = <Value>(wait: Promise<Value>) => Promise<Value>;

/**
 * Awaits work for `ms` in all: many statements, each in time, may take too long together. What comes of the
 * work after that is dropped, its failure too.
 *
 * @throws DeadlinePassed, and what the work throws in time
 */
export const withinDeadline = async <Value>(
  ms: number,
  work: (uncounted: Uncounted) => Promise<Value>,
): Promise<Value> => {
  const passed = deferred<never>();
  const countdown = new Countdown(ms, performance.now());
  let timer: NodeJS.Timeout | undefined;
  /** Requests by the thousand set a timer each, and hardly one needs it: a pause leaves it as it is. */
  const look = (): void => {
    timer = undefined;
    if (countdown.isPaused) return;
    const leftMs = countdown.leftMs(performance.now());
    if (leftMs > 0) {
      timer = setTimeout(look, Math.ceil(leftMs));
      return;
    }
    // This process may have been frozen itself: what has come meanwhile is read before this is called.
    setImmediate(() => {
      passed.reject(new DeadlinePassed(ms));
    });
  };
  const uncounted: Uncounted = async (wait) => {
    countdown.pause(performance.now());
    try {
      return await wait;
    } finally {
      countdown.resume(performance.now());
      if (!timer) look();
    }
  };
  timer = setTimeout(look, ms);
  try {
    return await Promise.race([work(uncounted), passed.promise]);
  } finally {
    clearTimeout(timer);
  }
};
