import type { Logger } from '../logging.js';
import { Rests } from './rests.js';

/**
 * Runs a task now and then: again after a rest as long as it reports work done, otherwise `everyMs`
 * later. What it throws is logged; the next run tries again.
 */
export const periodically = (options: {
  readonly name: string;
  readonly everyMs: number;
  /** Does a piece of work, and returns how much it did; 0 means that there is nothing left. */
  readonly task: () => Promise<number>;
  readonly logger: Logger;
}) => {
  const { name, everyMs, task, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  /** As long as there is work. */
  const run = async (): Promise<void> => {
    const rests = new Rests(signal);
    let done = 1;
    while (done > 0 && !signal.aborted) {
      done = 0;
      try {
        done = await task();
      } catch (err) {
        logger.warn({ err, task: name }, 'a periodic task failed; it will be tried again');
      }
      if (done > 0) await rests.take();
    }
    if (!signal.aborted) schedule(everyMs);
  };
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      running = run();
    }, ms);
  };
  schedule(0);

  return {
    /** Resolves when the task is not running and never will again. */
    async stop(): Promise<void> {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
};

export type Periodic = ReturnType<typeof periodically>;
