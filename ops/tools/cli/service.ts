import { userInfo } from 'node:os';
import { knownAdminToken, publishedAddresses, type ServiceAddresses } from '../../app/data-dir.js';
import type { Config } from '../../platform/config/config.js';
import { urlOf } from '../../platform/http/server.js';
import { CliError, explainDataDir, isDenied } from './errors.js';

/** The operators' listener of the running service, and its admin token. */
export interface Service {
  /** `http://host:port` */
  readonly url: string;
  /** `null`: unknown here. */
  readonly token: string | null;
}

const addressesIn = (dataDir: string): ServiceAddresses | null => {
  try {
    return publishedAddresses(dataDir);
  } catch (error) {
    // Then the configuration alone tells where the service is.
    if (isDenied(error)) return null;
    throw explainDataDir(error, dataDir, 'ADMIN_TOKEN');
  }
};

const tokenIn = (dataDir: string): string | null => {
  try {
    return knownAdminToken(dataDir);
  } catch (error) {
    throw explainDataDir(error, dataDir, 'ADMIN_TOKEN');
  }
};

/**
 * Finds the service by its data directory, or else where the configuration would start it.
 *
 * @throws CliError, ConfigError
 */
export const findService = ({ dataDir, admin, adminToken }: Config): Service => {
  const published = addressesIn(dataDir);
  const token = adminToken ?? tokenIn(dataDir);
  if (published) return { url: published.admin, token };
  if (admin.port !== 0) return { url: urlOf(admin), token };
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

/** The part of a name that the admin API takes: 1 to 64 visible characters. */
export const visibleName = (name: string): string =>
  name.replaceAll(/[^\x21-\x7e]/g, '').slice(0, 64) || 'unknown';

/** Who is at the keyboard, for the events' `actor`. */
export const actorName = (): string => visibleName(userName());
