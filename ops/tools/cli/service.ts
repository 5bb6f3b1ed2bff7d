import { userInfo } from 'node:os';
import { knownAdminToken, publishedAddresses } from '../../app/data-dir.js';
import type { Config } from '../../config/config.js';
import { nullOn } from '../../platform/errors.js';
import { urlOf } from '../../http/server.js';
import { operatorName } from '../../../schemas/http/operators.js';
import { CliError, explainDataDir } from './errors.js';

export interface Service {
  /** `http://host:port` */
  readonly url: string;
  /** The admin token; `null` if it is unknown. */
  readonly token: string | null;
  /** `SHORT_URL_HOST` of the command; `null` if it is unset. */
  readonly shortUrlHost: string | null;
}

/**
 * Finds the service by its data directory, otherwise by the configured address.
 *
 * @throws CliError, ConfigError
 */
export const findService = async (config: Config): Promise<Service> => {
  const { dataDir, admin, adminToken, shortUrlHost } = config;
  try {
    // Without access to the data directory, the configured address is used.
    const published = await nullOn(publishedAddresses(dataDir), 'EACCES', 'EPERM');
    const token = adminToken ?? knownAdminToken(dataDir);
    if (published) return { url: published.admin, token, shortUrlHost };
    if (admin.port !== 0) return { url: urlOf(admin), token, shortUrlHost };
  } catch (error) {
    throw explainDataDir(error, dataDir, 'ADMIN_TOKEN');
  }
  throw new CliError('NO_SERVICE', `no service runs on ${dataDir}; start it with "npm start"`);
};

const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    // The uid of a container may have no entry in /etc/passwd.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
};

/**
 * Returns a valid name for the admin API: 1 to 64 visible characters. A reserved name gets a prefix, for example
 * `user-SYSTEM`.
 */
export const operatorNameOf = (user: string): string => {
  const visible = user.replaceAll(/[^\x21-\x7e]/g, '').slice(0, 64) || 'unknown';
  return operatorName.safeParse(visible).success ? visible : `user-${visible}`;
};

export const actorName = (): string => operatorNameOf(userName());
