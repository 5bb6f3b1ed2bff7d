import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { validate as isUuid } from 'uuid';
import { ConfigError } from '../platform/process/config-error.js';
import { nullOnThrow } from '../platform/errors.js';
import { acquireLock, isLocked } from '../platform/process/process-lock.js';

/** How long a start waits for another process on its data directory, which may be draining (ms). */
const predecessorWaitMs = 10_000;

/** The seal key of an installation that keeps all of its data in one place. */
export const sealKeyFileIn = (dataDir: string): string => path.join(dataDir, 'seal-key.pem');

const tokenFile = (dataDir: string): string => path.join(dataDir, 'admin-token');
const idFile = (dataDir: string): string => path.join(dataDir, 'id');
const addressesFile = (dataDir: string): string => path.join(dataDir, 'service.json');

const readText = (file: string): string | null =>
  nullOnThrow(() => readFileSync(file, 'utf8'), 'ENOENT');

/** Renames the file into place, so that nobody ever reads half of it. */
const writeWhole = (file: string, text: string, mode?: number): void => {
  writeFileSync(`${file}.new`, `${text}\n`, { mode });
  renameSync(`${file}.new`, file);
};

export interface ServiceAddresses {
  /** Set where this process runs the API. */
  readonly api?: string;
  readonly edge?: string;
  readonly admin: string;
  /** The brokers that a stack has started; absent where KAFKA_BROKERS names them. */
  readonly kafka?: string;
  readonly pid: number;
}

/** Makes the id of a new directory. Another machine may do so at this moment: the first one counts. */
const makeId = (dataDir: string): void => {
  const file = idFile(dataDir);
  const unfinished = `${file}.${randomUUID()}`;
  writeFileSync(unfinished, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600 });
  try {
    nullOnThrow(() => {
      linkSync(unfinished, file);
    }, 'EEXIST');
  } finally {
    rmSync(unfinished);
  }
};

/** The id by which processes on several machines know a directory that they share. */
const idOf = (dataDir: string): string => {
  const text = readText(idFile(dataDir));
  const known = text?.trim() ?? '';
  if (isUuid(known)) return known;
  // A power loss may leave an empty file.
  if (text !== null) rmSync(idFile(dataDir), { force: true });
  makeId(dataDir);
  return idOf(dataDir);
};

/**
 * Makes the data directory and locks it for this process.
 *
 * @param options.waitMs how long to wait for another process that has it (ms)
 * @throws LockHeld when another live process still has it then; ConfigError when it cannot be made or locked
 */
export const openDataDir = async (dataDir: string, { waitMs = predecessorWaitMs } = {}) => {
  try {
    // The parents get the usual mode: PostgreSQL, which never runs as root, must be able to pass them.
    mkdirSync(path.dirname(dataDir), { recursive: true });
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new ConfigError(`DATA_DIR ${dataDir} cannot be made: ${(cause as Error).message}`, {
      cause,
    });
  }
  const lock = await acquireLock(dataDir, { waitMs });
  // A killed predecessor left its addresses, where another process may listen by now.
  rmSync(addressesFile(dataDir), { force: true });
  return {
    id: (): string => idOf(dataDir),
    /** Where the running service can be reached, for the command line. */
    publish(addresses: ServiceAddresses) {
      writeWhole(addressesFile(dataDir), JSON.stringify(addresses));
    },
    release() {
      rmSync(addressesFile(dataDir), { force: true });
      lock.release();
    },
  };
};

/** The operators' token of this installation: made at the first start, readable by its user only. */
export const adminTokenOf = (dataDir: string): string => {
  const known = knownAdminToken(dataDir);
  if (known !== null) return known;
  const token = randomBytes(32).toString('base64url');
  writeWhole(tokenFile(dataDir), token, 0o600);
  return token;
};

/** The token of an installation that was started before, or `null`. */
export const knownAdminToken = (dataDir: string): string | null => {
  const token = readText(tokenFile(dataDir))?.trim() ?? '';
  // An empty token would let everybody in.
  return token === '' ? null : token;
};

/**
 * The addresses of the service that runs in this data directory; `null` while none runs. Addresses that
 * a killed service left are ignored: the admin token would go to whoever listens there now.
 */
export const publishedAddresses = async (dataDir: string): Promise<ServiceAddresses | null> => {
  if (!(await isLocked(dataDir))) return null;
  const text = readText(addressesFile(dataDir));
  return text === null ? null : (JSON.parse(text) as ServiceAddresses);
};
