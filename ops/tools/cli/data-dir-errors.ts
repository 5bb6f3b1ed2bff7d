import { hasCode } from '../../platform/errors.js';
import { ConfigError } from '../../platform/config/config.js';
import { CliError } from './errors.js';

/** Whether this user may not look into the data directory. */
export const isDenied = (error: unknown): boolean => hasCode(error, 'EACCES', 'EPERM');

/** What a person can do about a data directory that cannot be read; other errors as they are. */
export const explainDataDir = (cause: unknown, dataDir: string, variable: string): unknown => {
  if (isDenied(cause)) {
    const message =
      `DATA_DIR ${dataDir} belongs to another user: be the one who started the service, ` +
      `or set ${variable}`;
    return new CliError('NO_ACCESS', message, { cause });
  }
  if (hasCode(cause, 'ENOTDIR')) {
    return new ConfigError(`DATA_DIR ${dataDir} is not a directory`, { cause });
  }
  return cause;
};
