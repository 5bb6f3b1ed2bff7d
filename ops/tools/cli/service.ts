import { userInfo } from 'node:os';
import { knownAdminToken, publishedAddresses } from '../../app/data-dir.js';
import type { Config } from '../../config/config.js';
import { nullOn } from '../../platform/errors.js';
import { urlOf } from '../../http/server.js';
import { operatorName } from '../../../schemas/http/operators.js';
import { CliError, explainDataDir } from './errors.js';

/** The operators' listener of the running service, and its admin token. */
export interface Service {
  /** `http://host:port` */
  readonly url: string;
  /** `null`: unknown here. */
  readonly token: string | null;
}

/**
 * Finds the service by its data directory, or else where the configuration would start it.
 *
 * @throws CliError, ConfigError
 */
export const findService = async ({ dataDir, admin, adminToken }: Config): Promise<Service> => {
  try {
    // Without access to the addresses, the configuration alone tells where the service is.
    const published = await nullOn(publishedAddresses(dataDir), 'EACCES', 'EPERM');
    const token = adminToken ?? knownAdminToken(dataDir);
    if (published) return { url: published.admin, token };
    if (admin.port !== 0) return { url: urlOf(admin), token };
  } catch (error) {
    throw explainDataDir(error, dataDir, 'ADMIN_TOKEN');
  }
  throw new CliError('NO_SERVICE', `no service runs on ${dataDir}; start it with "npm start"`);
};

const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry in the system's list, as containers have it.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
};

/**
 * A name as the admin API takes it: 1 to 64 visible characters. Windows' user `SYSTEM`, for one, has a
 * name that is Linklog's own, and becomes `user-SYSTEM`.
 */
export const operatorNameOf = (user: string): string => {
  const visible = user.replaceAll(/[^\x21-\x7e]/g, '').slice(0, 64) || 'unknown';
  return operatorName.safeParse(visible).success ? visible : `user-${visible}`;
};

/** Who is at the keyboard, for the events' `actor`. */
export const actorName = (): string => operatorNameOf(userName());
