import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedPostgresUnavailable } from './embedded/index.js';
import { startLinklog, type Linklog } from './linklog.js';
import { ConfigError, configExitCode, readConfig } from './platform/config.js';
import { onEndSignals } from './platform/end-signals.js';
import { createLogger, type Logger } from './platform/logging.js';
import { readRoles } from './roles.js';

/** Who stops a service waits 10 s for it: what hangs by then (a database that is silent) is left. */
const endWithinMs = 9_000;

/** For a person: what a new installation begins with, and a line that works when pasted. */
const welcome = ({ addresses: { api = '' }, firstKey }: Linklog): string =>
  [
    '',
    `Your API key (plan PRO), shown this once: ${firstKey ?? ''}`,
    '',
    'Make a short link:',
    '',
    `curl -s ${api}/v2/shorten -H 'Authorization: Bearer ${firstKey ?? ''}' ` +
      `-H 'Content-Type: application/json' -d '{"url":"https://example.com/"}'`,
    '',
    '',
  ].join('\n');

const readyLine = ({ addresses, firstKey }: Linklog): string =>
  `${JSON.stringify({ event: 'ready', ...addresses, ...(firstKey !== null && { firstKey }) })}\n`;

/** Ends with one line for the person who started it. */
const fail = (error: unknown): void => {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`linklog: ${message}\n`);
  const misconfigured =
    error instanceof ConfigError || error instanceof EmbeddedPostgresUnavailable;
  process.exitCode = misconfigured ? configExitCode : 1;
};

/** Resolves at the first signal; the second one ends the process at once. */
const endSignal = (logger: Logger): Promise<void> =>
  new Promise((resolve) => {
    onEndSignals({
      first: (signal) => {
        logger.info({ signal }, 'draining');
        resolve();
      },
      again: () => process.exit(130),
    });
  });

const run = async (): Promise<void> => {
  const roles = readRoles(process.argv.slice(2));
  const config = readConfig();
  const logger = createLogger(config.logLevel);
  const ended = endSignal(logger);
  const linklog = await startLinklog(config, roles, logger);
  if (linklog.firstKey !== null) process.stdout.write(welcome(linklog));
  process.stdout.write(readyLine(linklog));
  try {
    await Promise.race([ended, linklog.failed]);
  } finally {
    const late = sleep(endWithinMs).then(() => {
      logger.warn('ended, though not everything could be stopped in time');
    });
    await Promise.race([linklog.stop(), late]);
  }
};

run().then(
  // Nothing is left to do; what still holds the event loop (a socket, a timer) may not keep it.
  () => process.exit(0),
  (error: unknown) => {
    fail(error);
    process.exit();
  },
);
