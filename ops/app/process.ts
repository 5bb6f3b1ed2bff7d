import { ServerUnavailable } from '../local/postgres/index.js';
import { ConfigError, configExitCode } from '../platform/config/config.js';
import { onEndSignals } from '../platform/process/end-signals.js';
import type { Logger } from '../platform/logging.js';

/** Ends with one line for the person who started it. */
const fail = (error: unknown): void => {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`linklog: ${message}\n`);
  const misconfigured = error instanceof ConfigError || error instanceof ServerUnavailable;
  process.exitCode = misconfigured ? configExitCode : 1;
};

/** Resolves at the first signal; the second one ends the process at once. */
export const endSignal = (logger: Logger): Promise<void> =>
  new Promise((resolve) => {
    onEndSignals({
      first: (signal) => {
        logger.info({ signal }, 'draining');
        resolve();
      },
      again: () => process.exit(130),
    });
  });

/** Runs a program's main function, and ends the process with what came of it. */
export const runToEnd = (run: () => Promise<void>): void => {
  run().then(
    // Nothing is left to do; what still holds the event loop (a socket, a timer) may not keep it.
    () => process.exit(0),
    (error: unknown) => {
      fail(error);
      process.exit();
    },
  );
};
