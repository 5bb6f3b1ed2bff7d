/**
 * Runs `work` for each call, at most one run at a time: calls during a run share the next one. So the run that
 * a call gets began after the call, and many calls cause two runs at most.
 */
export const coalesce = <Value>(work: () => Promise<Value>): (() => Promise<Value>) => {
  let running: Promise<void> | null = null;
  let next: Promise<Value> | null = null;

  const run = (): Promise<Value> => {
    next = null;
    const result = work();
    const end = (): void => {
      running = null;
    };
    running = result.then(end, end);
    return result;
  };
  return () => {
    if (running) next ??= running.then(run);
    return next ?? run();
  };
};
