import cluster from 'node:cluster';
import { ConfigError, configExitCode } from './config-error.js';
import { deferred } from '../concurrency/deferred.js';
import type { Logger } from '../logging.js';

/** One Ctrl-C may come twice, from the terminal and from npm: only a later signal counts as a second. */
const againAfterMs = 500;

/**
 * Listens to SIGINT and SIGTERM: `first` is to begin a clean stop, `again` to end at once.
 *
 * @returns how to stop hearing them
 */
export const onEndSignals = (handlers: {
  readonly first: (signal: NodeJS.Signals) => void;
  readonly again: () => void;
}): (() => void) => {
  let askedAt: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (askedAt === null) {
      askedAt = performance.now();
      handlers.first(signal);
    } else if (performance.now() - askedAt > againAfterMs) {
      handlers.again();
    }
  };
  // Ctrl-C reaches all of the group: what shares its ports waits for the process that started it.
  process.on('SIGINT', cluster.isWorker ? () => undefined : onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
};

/** Resolves at the first signal; the second one ends the process at once. */
export const endSignal = (logger: Logger): Promise<void> => {
  const { promise, resolve } = deferred();
  onEndSignals({
    first: (signal) => {
      logger.info({ signal }, 'draining');
      resolve();
    },
    again: () => process.exit(130),
  });
  return promise;
};

/**
 * Runs a program's main function, then ends the process: exit code 0, or one line on stderr and 78
 * (ConfigError) or 1.
 */
export const runToEnd = (run: () => Promise<void>): void => {
  run().then(
    // A socket or a timer that is still open must not keep the process.
    () => process.exit(0),
    (error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      process.stderr.write(`linklog: ${message}\n`);
      process.exit(error instanceof ConfigError ? configExitCode : 1);
    },
  );
};
