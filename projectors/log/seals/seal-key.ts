import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ConfigError, hasCode } from '../../../ops/platform/errors.js';
import { linklogCommand } from '../../../ops/platform/process/own-command.js';
import { FileExists, writeNewFile } from '../../../ops/platform/files/new-file.js';
import type { Logger } from '../../../ops/platform/logging.js';
import type { Queryable } from '../../../ops/platform/postgres/pool.js';
import { SealMemory } from './seal-memory.js';
import { isEd25519, signerOf, type Signer } from './signed-checkpoint.js';

/** The key that signs checkpoints, and its last checkpoints. */
export type SealKey = Signer & { readonly memory: SealMemory };

const keyFileError = (file: string, reason: string, cause?: unknown): ConfigError =>
  new ConfigError(`SEAL_KEY_FILE ${file} ${reason}`, { cause });

const readText = async (file: string): Promise<string | null> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw keyFileError(file, `cannot be read: ${(error as Error).message}`, error);
  }
};

const parse = (file: string, pem: string): KeyObject => {
  try {
    const key = createPrivateKey(pem);
    if (isEd25519(key)) return key;
  } catch (error) {
    throw keyFileError(file, 'holds no private key in PEM', error);
  }
  throw keyFileError(file, 'holds a key of another kind than Ed25519');
};

/** Creates the file. If several processes do so concurrently, all of them use the key of the first. */
const createKeyFile = async (file: string): Promise<string> => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  try {
    await writeNewFile(file, { replace: false }, (append) => append(Buffer.from(pem)));
    return pem;
  } catch (error) {
    const existing = error instanceof FileExists ? await readText(file) : null;
    if (existing !== null) return existing;
    throw new ConfigError(`SEAL_KEY_FILE: ${(error as Error).message}`, { cause: error });
  }
};

/** Returns the id of the current key; `null` if there is none. */
const activeKey = async (client: Queryable): Promise<string | null> => {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM seals.keys WHERE retired_at IS NULL',
  );
  return rows[0]?.id ?? null;
};

/** The log is sealed with a key that this process does not have. */
class SealedByAnother extends ConfigError {}

const byAnother = (active: string): string =>
  `the log is sealed with another key (${active}): give every projector that one, or retire it with ` +
  `"${linklogCommand()} audit seal retire-key"`;

/**
 * Opens the key that signs checkpoints. It is created if the file is missing and the log was never sealed. The log has
 * one key until that is retired.
 *
 * @throws ConfigError
 */
export const openSealKey = async (file: string, client: Queryable): Promise<SealKey> => {
  // Queried before the file is read, because a process writes its new file before it registers the key.
  const known = await activeKey(client);
  let pem = await readText(file);
  if (pem === null) {
    if (known !== null) {
      throw new SealedByAnother(`SEAL_KEY_FILE ${file} is not there, and ${byAnother(known)}`);
    }
    pem = await createKeyFile(file);
  }
  const signer = signerOf(parse(file, pem));
  await client.query(
    'INSERT INTO seals.keys (id, public_key) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [signer.keyId, signer.publicKey.export({ type: 'spki', format: 'pem' })],
  );
  const active = await activeKey(client);
  if (active === null) throw keyFileError(file, 'holds a key that was retired: name another file');
  if (active !== signer.keyId) {
    throw new SealedByAnother(`SEAL_KEY_FILE ${file} does not fit: ${byAnother(active)}`);
  }
  return { ...signer, memory: await SealMemory.open(file, signer) };
};

/**
 * Returns the signer of this process; `null` if it does not seal, for a reason that it logs. `named` is SEAL_KEY_FILE,
 * `own` the default file of an installation in one process. A second installation on the same database does not seal.
 *
 * @throws ConfigError if the named key cannot be used
 */
export const signerOfProcess = async (
  files: { readonly named: string | null; readonly own: string | null },
  { client, logger }: { readonly client: Queryable; readonly logger: Logger },
): Promise<SealKey | null> => {
  if (files.named !== null) return openSealKey(files.named, client);
  if (files.own === null) {
    logger.warn('SEAL_KEY_FILE is not set: this process does not seal the log');
    return null;
  }
  try {
    return await openSealKey(files.own, client);
  } catch (error) {
    if (!(error instanceof SealedByAnother)) throw error;
    logger.warn(`This process does not seal the log: ${error.message}`);
    return null;
  }
};
