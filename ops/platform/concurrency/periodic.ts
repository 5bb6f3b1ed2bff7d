import type { Logger } from '../logging.js';

/**
 * Runs a task now and then: at once again as long as it reports work done, otherwise `everyMs`
 * later. What it throws is logged; the next run tries again.
 */
export const periodically = (options: {
  readonly name: string;
  readonly everyMs: number;
  /** Returns how much it did; 0 means that there is nothing left. */
  readonly task: () => Promise<number>;
  readonly logger: Logger;
}) => {
  const { name, everyMs, task, logger } = options;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  const runOnce = async (): Promise<void> => {
    let done = 0;
    try {
      done = await task();
    } catch (err) {
      logger.warn({ err, task: name }, 'a periodic task failed; it will be tried again');
    }
    if (!stopped) schedule(done > 0 ? 0 : everyMs);
  };
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      running = runOnce();
    }, ms);
  };
  schedule(0);

  return {
    /** Resolves when the task is not running and never will again. */
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
};

export type Periodic = ReturnType<typeof periodically>;
