import { userInfo } from 'node:os';
import { knownAdminToken, publishedAddresses } from '../../app/data-dir.js';
import { sudoUser, type Config } from '../../config/config.js';
import { nullOn } from '../../platform/errors.js';
import { urlOf } from '../../http/server.js';
import { operatorNameIn } from '../../../schemas/http/operators.js';
import { trimInvisible } from '../../../schemas/trim-invisible.js';
import { CliError, explainDataDir } from './errors.js';

export interface Service {
  /** `http://host:port` */
  readonly url: string;
  /** The admin token; `null` if it is unknown. */
  readonly token: string | null;
  /** `SHORT_URL_HOST` of the command; `null` if it is unset. */
  readonly shortUrlHost: string | null;
  /** Where a running service was searched. */
  readonly dataDir: string;
}

/** The message for a service that does not run. @param what what was not found, such as `no service runs` */
export const noService = (what: string, dataDir: string): string =>
  `${what}, and none runs in DATA_DIR ${dataDir}: start it, or set DATA_DIR to its data directory, ` +
  'or ADMIN_HOST and ADMIN_PORT to its address';

/** Finds the service by its data directory, otherwise by the configured address. @throws CliError, ConfigError */
export const findService = async (config: Config): Promise<Service> => {
  const { dataDir, admin, adminToken, shortUrlHost } = config;
  try {
    // Without access to the data directory, the configured address is used.
    const published = await nullOn(publishedAddresses(dataDir), 'EACCES', 'EPERM');
    const token = adminToken ?? knownAdminToken(dataDir);
    const found = { token, shortUrlHost, dataDir };
    if (published) return { url: published.admin, ...found };
    if (admin.port !== 0) return { url: urlOf(admin), ...found };
  } catch (error) {
    throw explainDataDir(error, dataDir, 'ADMIN_TOKEN');
  }
  throw new CliError('NO_SERVICE', noService('the service has no address (ADMIN_PORT=0)', dataDir));
};

const operatorName = operatorNameIn('--actor');

const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    // The uid of a container may have no entry in /etc/passwd.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
};

/** A valid name for the admin API. A reserved name gets a prefix, for example `user-SYSTEM`. */
export const operatorNameOf = (user: string): string => {
  const printable = user.replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu, '').normalize('NFC');
  const cut = Array.from(trimInvisible(printable)).slice(0, 64).join('');
  const name = trimInvisible(cut) || 'unknown';
  return operatorName.safeParse(name).success ? name : operatorNameOf(`user-${name}`);
};

/** Parses `--actor`. @throws CliError */
export const actorArgument = (name: string): string => {
  const parsed = operatorName.safeParse(name);
  if (parsed.success) return parsed.data;
  throw new CliError('USAGE', parsed.error.issues[0]?.message ?? '--actor is invalid');
};

/** The user, behind sudo the one who ran it. */
export const actorName = (): string => operatorNameOf(sudoUser() ?? userName());
