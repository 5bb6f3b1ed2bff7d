import type { Logger } from '../logging.js';

type Stop = () => Promise<void> | void;

/** Registers how to stop a part that has started. */
export type Register = (stop: Stop) => void;

export interface Stoppable {
  stop(): Promise<void>;
}

const stopInReverse = async (stops: Stop[], logger: Logger): Promise<void> => {
  for (const stop of stops.splice(0).reverse()) {
    try {
      await stop();
    } catch (err) {
      // The others must be stopped all the same.
      logger.error({ err }, 'part of the process could not be stopped');
    }
  }
};

/**
 * Starts several parts in order. `onFailure` registers, right after each start, how to stop that part. If a
 * later part fails to start, the registered ones are stopped in the reverse order. For parts whose usual
 * stop is another one, in parallel or with a grace period; otherwise use `startInOrder`.
 */
export const startOrStop = async <Started>(
  logger: Logger,
  start: (onFailure: Register) => Promise<Started>,
): Promise<Started> => {
  const stops: Stop[] = [];
  try {
    return await start((stop) => stops.push(stop));
  } catch (error) {
    await stopInReverse(stops, logger);
    throw error;
  }
};

/** Does what `startOrStop` does; the result's `stop` stops the registered parts in the reverse order too. */
export const startInOrder = async <Started extends object>(
  logger: Logger,
  start: (onStop: Register) => Promise<Started>,
): Promise<Started & Stoppable> => {
  const stops: Stop[] = [];
  const started = await startOrStop(logger, (onFailure) => {
    onFailure(() => stopInReverse(stops, logger));
    return start((stop) => stops.push(stop));
  });
  return { ...started, stop: () => stopInReverse(stops, logger) };
};
