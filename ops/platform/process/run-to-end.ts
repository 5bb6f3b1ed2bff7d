import { ConfigError, configExitCode } from '../config/config.js';
import { deferred } from '../concurrency/deferred.js';
import type { Logger } from '../logging.js';
import { onEndSignals } from './end-signals.js';

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
