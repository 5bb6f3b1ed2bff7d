import cluster from 'node:cluster';
import { ConfigError, configExitCode } from '../errors.js';
import { withinDeadline } from '../concurrency/deadline.js';
import { deferred } from '../concurrency/deferred.js';
import type { Logger } from '../logging.js';

/** The terminal and npm both send the signal of one Ctrl-C, so only a later signal counts as a second one (ms). */
const againAfterMs = 500;

/** A supervisor sends it to its services during its own drain delay: they are not ready any more. */
export const notReadySignal = 'SIGUSR2';

/** Handles SIGINT and SIGTERM: `first` starts a clean stop, `again` ends immediately. Returns a function that stops it. */
export const onEndSignals = (handlers: {
  readonly first: (signal: NodeJS.Signals) => void;
  readonly again: () => void;
}): (() => void) => {
  let firstAt: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (firstAt === null) {
      firstAt = performance.now();
      handlers.first(signal);
    } else if (performance.now() - firstAt > againAfterMs) {
      handlers.again();
    }
  };
  // Ctrl-C reaches the whole process group; a cluster worker waits for its primary.
  process.on('SIGINT', cluster.isWorker ? () => undefined : onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
};

/**
 * Handles the signals of a service that drains after a delay, in which it is not ready but still serves. A second signal
 * ends the delay, or the process after the delay.
 */
export const endSignals = (logger: Logger, drainDelayMs: number) => {
  const notReady = deferred();
  const delayed = deferred();
  let delay: NodeJS.Timeout | null = null;
  const endDelay = (): void => {
    delay = null;
    delayed.resolve();
  };
  onEndSignals({
    first: (signal) => {
      logger.info({ signal, drainDelayMs }, 'draining');
      delay = setTimeout(endDelay, drainDelayMs);
      notReady.resolve();
    },
    again: () => {
      if (delay === null) process.exit(130);
      clearTimeout(delay);
      endDelay();
    },
  });
  process.once(notReadySignal, notReady.resolve);
  return {
    /** Resolves at the first signal: the service is not ready any more. */
    notReady: notReady.promise,
    /** Resolves after the delay: the service must stop. */
    delayed: delayed.promise,
  };
};

/** Runs a main function, then exits with 0, or with one line on stderr and 78 (ConfigError) or 1. */
export const runToEnd = (run: () => Promise<void>): void => {
  run().then(
    // An open socket or timer must not keep the process alive.
    () => process.exit(0),
    (error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      process.stderr.write(`linklog: ${message}\n`);
      process.exit(error instanceof ConfigError ? configExitCode : 1);
    },
  );
};

type Stop = () => Promise<void> | void;

/** Registers how to stop a part that has started. */
export type Register = (stop: Stop) => void;

export interface Stoppable {
  stop(): Promise<void>;
}

/** Time for the stop of one part (ms), longer than responses and the shipping of the spool take. */
const partMs = 7_000;

const stopInReverse = async (stops: Stop[], logger: Logger): Promise<void> => {
  for (const stop of stops.splice(0).reverse()) {
    try {
      await withinDeadline(partMs, async () => stop());
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
