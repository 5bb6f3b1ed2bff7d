import { setTimeout as sleep } from 'node:timers/promises';
import { startLinklog, type Linklog } from './linklog.js';
import { readConfig } from './platform/config.js';
import { createLogger } from './platform/logging.js';
import { endSignal, runToEnd } from './process.js';
import { readRoles } from './roles.js';
import { welcome } from './welcome.js';

/** Who stops a service waits 10 s for it: what hangs by then (a database that is silent) is left. */
const endWithinMs = 9_000;

const readyLine = ({ addresses, firstKey }: Linklog): string =>
  `${JSON.stringify({ event: 'ready', ...addresses, ...(firstKey !== null && { firstKey }) })}\n`;

runToEnd(async () => {
  const roles = readRoles(process.argv.slice(2));
  const config = readConfig();
  const logger = createLogger(config.logLevel);
  const ended = endSignal(logger);
  const linklog = await startLinklog(config, roles, logger);
  const { addresses, firstKey } = linklog;
  if (firstKey !== null) process.stdout.write(welcome(addresses.api ?? '', firstKey));
  process.stdout.write(readyLine(linklog));
  try {
    await Promise.race([ended, linklog.failed]);
  } finally {
    const late = sleep(endWithinMs).then(() => {
      logger.warn('ended, though not everything could be stopped in time');
    });
    await Promise.race([linklog.stop(), late]);
  }
});
