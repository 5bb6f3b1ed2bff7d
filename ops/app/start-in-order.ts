import type { Logger } from '../platform/logging.js';

type Stop = () => Promise<void> | void;

export interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Starts several things in order. `onStop` names, right after each start, what stops it. The result's
 * `stop` calls these in the reverse order. A start that fails stops what was started before it.
 */
export const startInOrder = async <Started extends object>(
  logger: Logger,
  start: (onStop: (stop: Stop) => void) => Promise<Started>,
): Promise<Started & Stoppable> => {
  const stops: Stop[] = [];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (err) {
        // The others must be stopped all the same.
        logger.error({ err }, 'part of the process could not be stopped');
      }
    }
  };
  try {
    const started = await start((stop) => stops.push(stop));
    return { ...started, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
};
