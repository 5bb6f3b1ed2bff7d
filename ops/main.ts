import { setFlagsFromString } from 'node:v8';
import { startLinklog } from './app/linklog.js';
import { printReady } from './app/ready-line.js';
import { readConfig } from './config/config.js';
import { DeadlinePassed, withinDeadline } from './platform/concurrency/deadline.js';
import { createLogger, logWarnings } from './platform/logging.js';
import { endSignals, runToEnd } from './platform/process/lifecycle.js';
import { readRoles } from './app/roles.js';

// A full mark delays requests by 20 to 80 ms on two cores. By default, V8 marks every few seconds under load; with this
// flag, when the heap is 2.5 times the size of its live objects.
setFlagsFromString('--heap-growing-percent=150');
// Pretenuring allocates responses in the old generation, where they keep megabytes alive after their end. Without it, a
// collection of the young generation lasts 2 ms instead of 6 ms.
setFlagsFromString('--no-allocation-site-pretenuring');

/** A service manager kills the process after 10 s. The embedded PostgreSQL takes less than a second to stop. */
const stopTimeoutMs = 7_500;

runToEnd(async () => {
  const roles = readRoles(process.argv.slice(2));
  const config = readConfig();
  const logger = createLogger(config.logLevel);
  logWarnings(logger);
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
});
