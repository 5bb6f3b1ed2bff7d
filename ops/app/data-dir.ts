import { randomBytes, randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { validate as isUuid } from 'uuid';
import { ConfigError, hasCode, nullOnThrow } from '../platform/errors.js';
import { acquireLock, isLocked } from '../platform/process/process-lock.js';

/** How long a start waits for another process in its data directory, which may be draining (ms). */
const predecessorWaitMs = 10_000;

/** The default path of the seal key. */
export const sealKeyFileIn = (dataDir: string): string => path.join(dataDir, 'seal-key.pem');

const tokenFile = (dataDir: string): string => path.join(dataDir, 'admin-token');
const idFile = (dataDir: string): string => path.join(dataDir, 'id');
const addressesFile = (dataDir: string): string => path.join(dataDir, 'service.json');

const readText = (file: string): string | null =>
  nullOnThrow(() => readFileSync(file, 'utf8'), 'ENOENT');

const writeAtomically = (file: string, text: string, mode?: number): void => {
  writeFileSync(`${file}.new`, `${text}\n`, { mode });
  renameSync(`${file}.new`, file);
};

export interface ServiceAddresses {
  /** Set if this process runs the API. */
  readonly api?: string;
  readonly edge?: string;
  readonly admin: string;
  /** The brokers that a stack has started; absent if KAFKA_BROKERS is set. */
  readonly kafka?: string;
  readonly pid: number;
}

/** Creates the id of a new directory. If another machine creates one concurrently, the first id wins. */
const createId = (dataDir: string): void => {
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

/** Returns the id by which processes on several machines recognise a directory that they share. */
const directoryId = (dataDir: string): string => {
  const text = readText(idFile(dataDir));
  const id = text?.trim() ?? '';
  if (isUuid(id)) return id;
  // A power loss may leave an empty file.
  if (text !== null) rmSync(idFile(dataDir), { force: true });
  createId(dataDir);
  return directoryId(dataDir);
};

/** @throws ConfigError that names the remedy if this process cannot create files in the directory */
const requireWritable = (dataDir: string): void => {
  try {
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (cause) {
    if (!hasCode(cause, 'EACCES')) throw cause;
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    const { uid: owner } = statSync(dataDir);
    throw new ConfigError(
      `DATA_DIR ${dataDir} belongs to user ${owner}, and this process is user ${uid}: run ` +
        `"chown -R ${uid}:${gid}" on ${dataDir}, or on the directory of the host that is mounted there`,
      { cause },
    );
  }
};

/** Not with `recursive`, which never ends in `/proc` (Node 20). */
const createFolder = (folder: string, mode?: number): void => {
  if (existsSync(folder)) return;
  createFolder(path.dirname(folder));
  nullOnThrow(() => {
    mkdirSync(folder, { mode });
  }, 'EEXIST');
};

/**
 * Creates the data directory and locks it for this process.
 *
 * @param options.waitMs how long to wait for another process that holds the lock (ms)
 * @throws LockHeld if another process still holds the lock then
 * @throws ConfigError if the directory cannot be created or written
 */
export const openDataDir = async (dataDir: string, { waitMs = predecessorWaitMs } = {}) => {
  try {
    // The parents get the default mode: PostgreSQL, which never runs as root, must be able to traverse them.
    createFolder(dataDir, 0o700);
    // Throws if it is a file.
    mkdirSync(dataDir, { recursive: true });
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new ConfigError(`DATA_DIR ${dataDir} cannot be created: ${reason}`, { cause });
  }
  requireWritable(dataDir);
  const lock = await acquireLock(dataDir, { waitMs });
  // A killed predecessor left its addresses, and another process may listen there now.
  rmSync(addressesFile(dataDir), { force: true });
  return {
    id: (): string => directoryId(dataDir),
    /** Publishes the addresses of the running service for the command line. */
    publish(addresses: ServiceAddresses) {
      writeAtomically(addressesFile(dataDir), JSON.stringify(addresses));
    },
    release() {
      rmSync(addressesFile(dataDir), { force: true });
      lock.release();
    },
  };
};

/** Returns the operators' token of this installation. The first start generates it, with mode 0600. */
export const adminTokenOf = (dataDir: string): string => {
  const existing = knownAdminToken(dataDir);
  if (existing !== null) return existing;
  const token = randomBytes(32).toString('base64url');
  writeAtomically(tokenFile(dataDir), token, 0o600);
  return token;
};

/**
 * Writes the header with the first key to a file for `curl -H @FILE`, with mode 0600.
 *
 * @returns the path; `null` if the directory is absent, read-only or full
 */
export const writeKeyHeader = (dataDir: string, key: string): string | null => {
  const file = path.join(dataDir, 'first-key.header');
  return nullOnThrow(
    () => {
      writeAtomically(file, `Authorization: Bearer ${key}`, 0o600);
      return file;
    },
    ...['ENOENT', 'EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT'],
  );
};

/** Returns the existing token; `null` before the first start. */
export const knownAdminToken = (dataDir: string): string | null => {
  const token = readText(tokenFile(dataDir))?.trim() ?? '';
  // An empty token would authenticate every client.
  return token === '' ? null : token;
};

/**
 * Returns the addresses of the service that runs in this data directory; `null` if none runs. Addresses that a killed
 * service left are ignored: the admin token would be sent to an unrelated process that listens there now.
 */
export const publishedAddresses = async (dataDir: string): Promise<ServiceAddresses | null> => {
  if (!(await isLocked(dataDir))) return null;
  const text = readText(addressesFile(dataDir));
  return text === null ? null : (JSON.parse(text) as ServiceAddresses);
};
