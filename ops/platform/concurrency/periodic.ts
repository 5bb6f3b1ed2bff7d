import type { Logger } from '../logging.js';
import { DutyCycle } from './duty-cycle.js';

/** Runs a task periodically: after a pause of the duty cycle while it has work, otherwise every `everyMs`. */
export const periodically = (options: {
  readonly name: string;
  readonly everyMs: number;
  /** Does a piece of work. Returns its amount, or 0 if no work is left. */
  readonly task: () => Promise<number>;
  /** Of the duty cycle: the pause per unit of work in an idle process. */
  readonly idleFactor?: number;
  readonly logger: Logger;
}) => {
  const { name, everyMs, task, idleFactor, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  const run = async (): Promise<void> => {
    const dutyCycle = new DutyCycle(signal, idleFactor);
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
    if (!signal.aborted) schedule(everyMs);
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
