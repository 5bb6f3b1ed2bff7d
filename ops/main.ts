import { startLinklog, type Linklog } from './linklog.js';
import { readConfig } from './platform/config.js';
import { createLogger } from './platform/logging.js';
import { endSignal, runToEnd } from './process.js';
import { readRoles } from './roles.js';
import { welcome } from './welcome.js';

const readyLine = ({ addresses, firstKey }: Linklog): string =>
  `${JSON.stringify({ event: 'ready', ...addresses, ...(firstKey !== null && { firstKey }) })}\n`;

const run = async (): Promise<void> => {
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
    await linklog.stop();
  }
};

runToEnd(run);
