import { setTimeout as sleep } from 'node:timers/promises';

export { endsWithin } from '../../platform/concurrency/deadline.js';

const stepMs = 5;

/**
 * Resolves when the condition holds. Asks again and again; a failure of `condition` ends the wait.
 *
 * @param what names the condition in the error of a time-out
 */
export const eventually = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 20_000,
): Promise<void> => {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${what}`);
    await sleep(stepMs);
  }
};

/** Repeats assertions until all of them hold. A time-out throws the failure of the last try. */
export const eventuallyPasses = async (
  withinMs: number,
  look: () => void | Promise<void>,
): Promise<void> => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const isLast = performance.now() >= deadline;
    try {
      await look();
      return;
    } catch (error) {
      if (!isLast) await sleep(25);
      else if (!(error instanceof Error)) throw error;
      else {
        error.message = `Still after ${withinMs} ms: ${error.message}`;
        throw error;
      }
    }
  }
};

/** Resolves with the reason that a promise rejects with. @throws where the promise resolves */
export const rejection = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('The promise was expected to reject, and resolved');
};

/** Awaits a promise for `ms` at most. @throws an error that begins with `what` when it is late */
export const within = async <Value>(
  ms: number,
  what: string,
  promise: Promise<Value>,
): Promise<Value> => {
  const late = new AbortController();
  const tooLate = sleep(ms, null, { signal: late.signal }).then(() => {
    throw new Error(`${what} within ${ms} ms`);
  });
  // It is aborted when the promise came first: then nobody waits for it.
  tooLate.catch(() => undefined);
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    late.abort();
  }
};
