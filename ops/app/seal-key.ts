import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { FileExists, writeNewFile } from '../platform/files/new-file.js';
import { hasCode } from '../platform/errors.js';
import { ConfigError, type Config } from '../platform/config/config.js';
import type { Logger } from '../platform/logging.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { roles, type Role } from './roles.js';
import { isEd25519, signerOf, type Signer } from '../../projectors/seals/signed-checkpoint.js';

const wrong = (file: string, what: string, cause?: unknown): ConfigError =>
  new ConfigError(`SEAL_KEY_FILE ${file} ${what}`, { cause });

const readText = async (file: string): Promise<string | null> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw wrong(file, `cannot be read: ${(error as Error).message}`, error);
  }
};

const parse = (file: string, pem: string): KeyObject => {
  try {
    const key = createPrivateKey(pem);
    if (isEd25519(key)) return key;
  } catch (error) {
    throw wrong(file, 'holds no private key in PEM', error);
  }
  throw wrong(file, 'holds a key of another kind than Ed25519');
};

/** Makes the file; of several that do so at once, all get what one of them has made. */
const make = async (file: string): Promise<string> => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  try {
    await writeNewFile(file, { replace: false }, (append) => append(Buffer.from(pem)));
    return pem;
  } catch (error) {
    const made = error instanceof FileExists ? await readText(file) : null;
    if (made !== null) return made;
    throw new ConfigError(`SEAL_KEY_FILE: ${(error as Error).message}`, { cause: error });
  }
};

/** The key that signs, by its id; `null` while none does. */
const activeKey = async (client: Queryable): Promise<string | null> => {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM seals.keys WHERE retired_at IS NULL',
  );
  return rows[0]?.id ?? null;
};

/** Whoever seals the log does so with a key that this process has not got. */
class SealedByAnother extends ConfigError {}

const byAnother = (active: string): string =>
  `the log is sealed with another key (${active}): give every projector that one, or retire it with ` +
  '"linklog audit seal retire-key"';

/**
 * The key that signs checkpoints: made where the file is not there and the log was never sealed. The
 * first key that asks has the log for good, until it is retired.
 *
 * @throws ConfigError
 */
export const openSealKey = async (file: string, client: Queryable): Promise<Signer> => {
  // In this order: whoever makes a file has it there before its key has the log.
  const known = await activeKey(client);
  let pem = await readText(file);
  if (pem === null) {
    if (known !== null) {
      throw new SealedByAnother(`SEAL_KEY_FILE ${file} is not there, and ${byAnother(known)}`);
    }
    pem = await make(file);
  }
  const signer = signerOf(parse(file, pem));
  await client.query(
    'INSERT INTO seals.keys (id, public_key) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [signer.keyId, signer.publicKey.export({ type: 'spki', format: 'pem' })],
  );
  const active = await activeKey(client);
  if (active === null) throw wrong(file, 'holds a key that was retired: name another file');
  if (active !== signer.keyId) {
    throw new SealedByAnother(`SEAL_KEY_FILE ${file} does not fit: ${byAnother(active)}`);
  }
  return signer;
};

/** The file of an installation that has all of its data in one place. */
export const sealKeyFileIn = (dataDir: string): string => path.join(dataDir, 'seal-key.pem');

/**
 * What this process seals with; `null`: it does not seal, and the log says why. Several projectors need
 * one key, so one that runs apart has to be told of it, and so has a second process on a database.
 *
 * @throws ConfigError where a key was named that cannot be used
 */
export const signerOfProcess = async (
  { sealKeyFile, dataDir }: Pick<Config, 'sealKeyFile' | 'dataDir'>,
  running: ReadonlySet<Role>,
  { client, logger }: { readonly client: Queryable; readonly logger: Logger },
): Promise<Signer | null> => {
  if (sealKeyFile !== null) return openSealKey(sealKeyFile, client);
  if (running.size < roles.length) {
    logger.warn('SEAL_KEY_FILE is not set: this process does not seal the log');
    return null;
  }
  try {
    return await openSealKey(sealKeyFileIn(dataDir), client);
  } catch (error) {
    if (!(error instanceof SealedByAnother)) throw error;
    logger.warn(`This process does not seal the log: ${error.message}`);
    return null;
  }
};
