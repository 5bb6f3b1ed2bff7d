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
      logger.error({ err }, 'part of the process could not be stopped');
    }
  }
};

/**
 * Starts parts in order. `onFailure` registers the stop of each started part. If a later part fails to start, the started
 * ones are stopped in reverse order. Use `startInOrder` unless the usual stop is different, such as in parallel.
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

/** Does the same as `startOrStop`, and returns a `stop` for all parts in reverse order. */
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
