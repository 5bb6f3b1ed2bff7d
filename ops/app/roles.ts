import { ConfigError } from '../platform/errors.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../platform/logging.js';

export const roles = ['api', 'edge', 'projectors'] as const;

export type Role = (typeof roles)[number];

/**
 * Returns the roles that the command's arguments name; without arguments, all roles.
 *
 * @throws ConfigError
 */
export const readRoles = (args: readonly string[]): ReadonlySet<Role> => {
  const unknown = args.find((arg) => !roles.includes(arg as Role));
  if (unknown !== undefined) {
    throw new ConfigError(`unknown service "${unknown}": the services are ${roles.join(', ')}`);
  }
  return new Set(args.length === 0 ? roles : (args as Role[]));
};

/**
 * Checks that services in separate processes can find each other.
 *
 * @throws ConfigError
 */
export const requireShared = (config: Config, running: ReadonlySet<Role>): void => {
  if (running.size === roles.length) return;
  const need = (variable: string, value: unknown): void => {
    if (value !== null) return;
    const names = [...running].join(' and ');
    throw new ConfigError(`${variable} must be set for ${names} in a separate process`);
  };
  need('DATABASE_URL', config.databaseUrl);
  if (!running.has('api')) return;
  // All APIs share one token, and short links point to the edges.
  need('ADMIN_TOKEN', config.adminToken);
  if (!running.has('edge')) need('SHORT_URL_HOST', config.shortUrlHost);
};

/** What everything in one process, its PostgreSQL and a command beside them need. */
const neededBytes = 384 * 1_024 ** 2;

/** Warns if the container has less memory than everything in one process needs: the kernel may kill its programs. */
export const warnOfMemoryLimit = (logger: Logger, limit = process.constrainedMemory()): void => {
  // 0: the limit is unknown.
  if (limit === 0 || limit >= neededBytes) return;
  logger.warn(
    { limit, needed: neededBytes },
    'the memory limit is too small for everything in one process',
  );
};
