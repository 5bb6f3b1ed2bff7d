import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { startLinklog } from './app/linklog.js';
import { sayReady } from './app/ready-line.js';
import { readConfig } from './platform/config/config.js';
import { createLogger } from './platform/logging.js';
import { endSignal, runToEnd } from './platform/process/run-to-end.js';
import { readRoles } from './app/roles.js';

// Visitors wait while the whole heap is marked, 20 to 80 ms in all each time on two cores. V8 would do
// that every few seconds under load, to keep a small heap small: this makes it wait until the heap is
// two and a half times what lives in it.
setFlagsFromString('--heap-growing-percent=150');
// V8 guesses which objects will live for long, and puts those among the old ones at once. Of answers to
// requests it guesses wrong: once dead they still keep what they name alive, megabytes at times that each
// collection of the young then copies, in 6 ms where it takes 2.
setFlagsFromString('--no-allocation-site-pretenuring');

/** Who stops a service waits 10 s for it: what hangs by then (a database that is silent) is left. */
const endWithinMs = 9_000;

runToEnd(async () => {
  const roles = readRoles(process.argv.slice(2));
  const config = readConfig();
  const logger = createLogger(config.logLevel);
  const ended = endSignal(logger);
  const linklog = await startLinklog(config, roles, logger);
  const { addresses, firstKey } = linklog;
  sayReady(addresses, { api: addresses.api ?? '', firstKey });
  try {
    await Promise.race([ended, linklog.failed]);
  } finally {
    const late = sleep(endWithinMs).then(() => {
      logger.warn('ended, though not everything could be stopped in time');
    });
    await Promise.race([linklog.stop(), late]);
  }
});
