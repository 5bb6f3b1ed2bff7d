import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs `work` for each call, at most one run at a time: calls during a run share the next one. So the run that
 * a call gets began after the call, and many calls cause two runs at most. A run starts `pauseMs` after the end of the
 * run before it, or later.
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
