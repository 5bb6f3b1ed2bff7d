import { readConfig } from '../config/config.js';
import { DeadlinePassed, withinDeadline } from '../platform/concurrency/deadline.js';
import { createLogger, logWarnings } from '../platform/logging.js';
import { watchFileDescriptors } from '../platform/process/file-descriptor-watch.js';
import { endSignals } from '../platform/process/lifecycle.js';
import { startLinklog } from './linklog.js';
import { printReady } from './ready-line.js';
import { readRoles } from './roles.js';

/** A service manager kills the process after 10 s. The embedded PostgreSQL takes less than a second to stop. */
const stopTimeoutMs = 7_500;

/**
 * Runs the services that the arguments name until a signal or a failure ends them.
 *
 * @throws ConfigError, LockHeld, and the errors of PostgreSQL and the log
 */
export const run = async (args: readonly string[]): Promise<void> => {
  const roles = readRoles(args);
  const config = readConfig();
  const logger = createLogger(config.logLevel);
  logWarnings(logger);
  watchFileDescriptors(logger);
  const signals = endSignals(logger, config.drainDelayMs);
  const ending = new AbortController();
  void signals.delayed.then(() => {
    ending.abort();
  });
  const linklog = await startLinklog(config, roles, logger, ending.signal);
  if (!linklog) return;
  void signals.notReady.then(linklog.beginDraining);
  const { addresses, edgeProcesses: edges, firstKey } = linklog;
  printReady({ ...addresses, ...(edges && { edges }) }, addresses.api ?? '', firstKey);
  try {
    await Promise.race([signals.delayed, linklog.failed]);
  } finally {
    await withinDeadline(stopTimeoutMs, () => linklog.stop()).catch((error: unknown) => {
      if (!(error instanceof DeadlinePassed)) throw error;
      logger.warn('stop timed out: ending with parts still running');
    });
    await linklog.stopPostgres();
  }
};
