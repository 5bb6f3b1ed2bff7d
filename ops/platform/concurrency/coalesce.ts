import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Returns a function that runs `work`, one run at a time: calls during a run share the next run, which starts at least
 * `pauseMs` later. So a call never gets the result of a run that started before it.
 */
export const coalesce = <Value>(
  work: () => Promise<Value>,
  pauseMs = 0,
): (() => Promise<Value>) => {
  let running: Promise<void> | null = null;
  let next: Promise<Value> | null = null;

  const run = (): Promise<Value> => {
    next = null;
    const result = work();
    const end = (): void => {
      running = null;
    };
    const pause = (): Promise<void> => sleep(pauseMs, undefined, { ref: false });
    running = (pauseMs === 0 ? result : result.then(pause, pause)).then(end, end);
    return result;
  };
  return () => {
    if (running) next ??= running.then(run);
    return next ?? run();
  };
};
