import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../platform/logging.js';
import type { Server } from './server.js';

/** Of what a stack consists: a process of ours that can be started again where it was. */
export type Part = Pick<Server, 'pid' | 'exited' | 'stop' | 'kill' | 'restart'>;

const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** One that lived as long is in no loop of crashes. */
const settledMs = 10_000;

const nextPause = (pauseMs: number): number =>
  Math.min(Math.max(pauseMs * 2, firstPauseMs), longestPauseMs);

export interface Watch {
  /** From now on its end is no accident. */
  stop(): void;
}

/** Starts a part again whenever it dies: at once, and after a growing pause where it dies soon again. */
export const keepRunning = (options: {
  readonly part: Part;
  readonly name: string;
  readonly logger: Logger;
  /** When it is ready again. */
  readonly onRestarted: () => void;
}): Watch => {
  const { part, name, logger, onRestarted } = options;
  const stopped = new AbortController();
  const { signal } = stopped;
  let begunAt = performance.now();
  let pauseMs = 0;

  // Read by a call: it may change while something is awaited.
  const isStopped = (): boolean => signal.aborted;

  const restart = async (): Promise<void> => {
    if (performance.now() - begunAt > settledMs) pauseMs = 0;
    // Until it is ready, or nobody wants it any more.
    while (!isStopped()) {
      await sleep(pauseMs, undefined, { signal });
      signal.throwIfAborted();
      pauseMs = nextPause(pauseMs);
      begunAt = performance.now();
      try {
        await part.restart();
        return;
      } catch (err) {
        if (!signal.aborted)
          logger.error({ err, part: name, pauseMs }, 'it could not be restarted');
      }
    }
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      const exit = await part.exited;
      if (signal.aborted || exit.status === 'stopped') return;
      const { reason, output } = exit;
      logger.warn({ part: name, reason, ...(output !== '' && { output }) }, 'it died: restarting');
      await restart();
      if (!isStopped()) onRestarted();
    }
  };
  watch().catch((error: unknown) => {
    // The pause that `stop` cut short.
    if (!signal.aborted) throw error;
  });
  return {
    stop() {
      stopped.abort();
    },
  };
};
