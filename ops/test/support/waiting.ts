import { setTimeout as sleep } from 'node:timers/promises';

const stepMs = 5;

/** Resolves when the condition holds; asks again and again, for 20 s at most. */
export const eventually = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
): Promise<void> => {
  const deadline = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Not in 20 s: ${what}`);
    await sleep(stepMs);
  }
};

/** A promise and the function that resolves it: for holding something until a test lets it go. */
export const gate = (): { readonly opened: Promise<void>; readonly open: () => void } => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
};

/** Whether a promise has settled by the time that the event loop has turned for `ms`. */
export const settledWithin = async (promise: Promise<unknown>, ms: number): Promise<boolean> => {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, sleep(ms, false)]);
};

/** What a promise rejects with. */
export const rejection = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('It was expected to reject, and resolved');
};
