import type { Logger } from '../logging.js';
import { DutyCycle, type PauseFactors } from './duty-cycle.js';

/** Runs a task periodically: after a pause of the duty cycle while it has work, otherwise every `everyMs`. */
export const periodically = (options: {
  readonly name: string;
  readonly everyMs: number;
  /** Does a piece of work. Returns its amount, or 0 if no work is left. */
  readonly task: () => Promise<number>;
  /** Of the duty cycle. */
  readonly factors?: PauseFactors;
  readonly logger: Logger;
}) => {
  const { name, everyMs, task, factors, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  const run = async (): Promise<void> => {
    const dutyCycle = new DutyCycle(signal, factors);
    let done = 1;
    while (done > 0 && !signal.aborted) {
      done = 0;
      try {
        done = await task();
      } catch (err) {
        logger.warn({ err, task: name }, 'a periodic task failed; trying again');
      }
      if (done > 0) await dutyCycle.pause();
    }
    // Together with other tasks: a process that wakes often costs an idle machine more than the statements.
    if (!signal.aborted) schedule(everyMs - (performance.now() % everyMs));
  };
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      running = run();
    }, ms);
  };
  schedule(0);

  return {
    /** Resolves when the task has ended. */
    async stop(): Promise<void> {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
};

export type Periodic = ReturnType<typeof periodically>;
