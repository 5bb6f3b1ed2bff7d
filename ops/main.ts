import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { startLinklog } from './app/linklog.js';
import { printReady } from './app/ready-line.js';
import { readConfig } from './config/config.js';
import { createLogger } from './platform/logging.js';
import { endSignal, runToEnd } from './platform/process/run-to-end.js';
import { readRoles } from './app/roles.js';

// A full mark of the heap makes visitors wait 20 to 80 ms on two cores. By default V8 marks every few
// seconds under load, to keep a small heap small. With this it waits until the heap is two and a half
// times the size of its live objects.
setFlagsFromString('--heap-growing-percent=150');
// V8 puts objects that it expects to live long among the old ones at once. For answers to requests it
// guesses wrong: dead ones keep megabytes alive, and each collection of the young takes 6 ms, not 2.
setFlagsFromString('--no-allocation-site-pretenuring');

/** Milliseconds; a service manager waits 10 s. What hangs by then (a silent database) is left. */
const endWithinMs = 9_000;

runToEnd(async () => {
  const roles = readRoles(process.argv.slice(2));
  const config = readConfig();
  const logger = createLogger(config.logLevel);
  const ended = endSignal(logger);
  const linklog = await startLinklog(config, roles, logger);
  const { addresses, edgeProcesses: edges, firstKey } = linklog;
  printReady({ ...addresses, ...(edges && { edges }) }, addresses.api ?? '', firstKey);
  try {
    await Promise.race([ended, linklog.failed]);
  } finally {
    const late = sleep(endWithinMs).then(() => {
      logger.warn('stop timed out: ending with parts still running');
    });
    await Promise.race([linklog.stop(), late]);
  }
});
