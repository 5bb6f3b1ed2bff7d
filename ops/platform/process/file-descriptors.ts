/**
 * The limit of open files of this process. Connections, files and threads use file descriptors. This module imports little,
 * because loading modules uses them too.
 */
import { readFileSync } from 'node:fs';
import { ConfigError, nullOnThrow } from '../errors.js';

/**
 * All services in one process use 68 when they are idle, and up to 50 more for connections to PostgreSQL. The rest is for
 * clients and files.
 */
const needed = 256;

/**
 * Returns the limit of this process. Node.js has raised the soft limit to the hard one.
 *
 * @param limits the text of `/proc/self/limits`; `null` on other systems than Linux
 * @returns `null` if there is no limit, or it is unknown
 */
export const fileDescriptorLimit = (
  limits = nullOnThrow(() => readFileSync('/proc/self/limits', 'utf8'), 'ENOENT'),
): number | null => {
  const [, soft] = /^Max open files +(\d+)/m.exec(limits ?? '') ?? [];
  return soft === undefined ? null : Number(soft);
};

/** @throws ConfigError if the limit is lower than what the process needs */
export const requireFileDescriptors = (limit = fileDescriptorLimit()): void => {
  if (limit === null || limit >= needed) return;
  throw new ConfigError(
    `the limit of open files is ${limit}, and at least ${needed} are needed: raise it with "ulimit -n", ` +
      'LimitNOFILE of systemd or --ulimit nofile of Docker',
  );
};
