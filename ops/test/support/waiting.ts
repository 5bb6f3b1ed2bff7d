import { setTimeout as sleep } from 'node:timers/promises';

export { endsWithin } from '../../platform/concurrency/deadline.js';

const stepMs = 5;
const defaultWithinMs = 20_000;

/**
 * Polls until the condition holds; an error of `condition` ends the wait.
 *
 * @param what the condition, for the error message
 */
export const eventually = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = defaultWithinMs,
): Promise<void> => {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(stepMs);
  }
};

/**
 * Repeats assertions until all of them pass. A time-out throws the last failure. The default also suits a busy machine:
 * times that the contract promises are measured by benchmarks.
 */
export const eventuallyPasses = async (
  check: () => void | Promise<void>,
  withinMs = defaultWithinMs,
): Promise<void> => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const isLast = performance.now() >= deadline;
    try {
      await check();
      return;
    } catch (error) {
      if (!isLast) await sleep(25);
      else if (!(error instanceof Error)) throw error;
      else {
        error.message = `still after ${withinMs} ms: ${error.message}`;
        throw error;
      }
    }
  }
};

/** Resolves with the reason of the rejection. @throws if the promise resolves */
export const rejection = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('the promise resolved, expected a rejection');
};

/** Awaits a promise for at most `ms`. @throws an error that starts with `what` */
export const within = async <Value>(
  ms: number,
  what: string,
  promise: Promise<Value>,
): Promise<Value> => {
  const late = new AbortController();
  const tooLate = sleep(ms, null, { signal: late.signal }).then(() => {
    throw new Error(`${what} within ${ms} ms`);
  });
  // Aborted if the promise was faster.
  tooLate.catch(() => undefined);
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    late.abort();
  }
};
