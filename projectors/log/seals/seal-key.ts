import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ConfigError } from '../../../ops/platform/process/config-error.js';
import { hasCode } from '../../../ops/platform/errors.js';
import { FileExists, writeNewFile } from '../../../ops/platform/files/new-file.js';
import type { Logger } from '../../../ops/platform/logging.js';
import type { Queryable } from '../../../ops/platform/postgres/pool.js';
import { SealMemory } from './seal-memory.js';
import { isEd25519, signerOf, type Signer } from './signed-checkpoint.js';

/** The key that signs checkpoints, and what it has signed last. */
export type SealKey = Signer & { readonly memory: SealMemory };

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

/** Makes the file. When several processes make it at once, one wins and all of them read its key. */
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

/** The id of the key that signs now; `null` while none does. */
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
  '"linklog audit seal retire-key"';

/**
 * The key that signs checkpoints. It is made where the file is missing and the log was never sealed.
 * The first key stays the log's only one until it is retired.
 *
 * @throws ConfigError
 */
export const openSealKey = async (file: string, client: Queryable): Promise<SealKey> => {
  // Asked before the file is read: a process writes its new file before it registers the key.
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
  return { ...signer, memory: await SealMemory.open(file, signer) };
};

/**
 * The signer of this process, or `null` where it does not seal; the log says why. Without a key of its
 * own (`named`), an installation keeps one in the file `own`. Processes that run apart share no file
 * (`own` is `null`), so they need a named one. A second installation on the same database is refused.
 *
 * @throws ConfigError where the named key cannot be used
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
