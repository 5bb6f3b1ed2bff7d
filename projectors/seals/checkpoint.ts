import { createPublicKey, hash as digest, sign, verify, type KeyObject } from 'node:crypto';
import { z } from 'zod';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** What would end a line of the signed statement has no place in a name. */
const oneLine = z.string().regex(/^[^\r\n]+$/);

/** What a checkpoint says: that the chain of a partition had this hash after these records. */
const statement = z.strictObject({
  logId: oneLine,
  topic: oneLine,
  partition: z.int().min(0),
  /** The offset after the last record that it covers. */
  nextOffset: z.int().min(1),
  /** The chain's hash there. */
  hash: sha256,
  /** SHA-256 of the fingerprints since the checkpoint before. */
  fingerprints: sha256,
  time: z.iso.datetime(),
  keyId: z.string().regex(/^[0-9a-f]{32}$/),
});

export type SealStatement = z.infer<typeof statement>;

const checkpoint = statement.extend({ signature: z.base64() });

/** A statement, signed by who keeps the key. */
export type Checkpoint = z.infer<typeof checkpoint>;

/** What a verifier keeps where nobody who can write the log can write. */
export const checkpointFile = z.strictObject({
  linklogSeals: z.literal(1),
  checkpoints: z.array(checkpoint).min(1),
});

/** The bytes that are signed: a line for each fact. */
const statementOf = (said: SealStatement): Buffer =>
  Buffer.from(
    [
      'linklog seal v1',
      `log ${said.logId}`,
      `topic ${said.topic}`,
      `partition ${said.partition}`,
      `next ${said.nextOffset}`,
      `chain ${said.hash}`,
      `fingerprints ${said.fingerprints}`,
      `time ${said.time}`,
      `key ${said.keyId}`,
      '',
    ].join('\n'),
  );

/** The digest of fingerprints that a checkpoint holds. */
export const fingerprintsDigest = (fingerprints: Buffer): string =>
  digest('sha256', fingerprints, 'hex');

/** Tells one key from any other: the first half of the SHA-256 of its public part. */
export const keyIdOf = (publicKey: KeyObject): string =>
  digest('sha256', publicKey.export({ type: 'spki', format: 'der' }), 'hex').slice(0, 32);

/** Who signs checkpoints. */
export interface Signer {
  readonly keyId: string;
  readonly publicKey: KeyObject;
  sign(said: Omit<SealStatement, 'keyId'>): Checkpoint;
}

export const isEd25519 = (key: KeyObject): boolean => key.asymmetricKeyType === 'ed25519';

export const signerOf = (privateKey: KeyObject): Signer => {
  const publicKey = createPublicKey(privateKey);
  const keyId = keyIdOf(publicKey);
  return {
    keyId,
    publicKey,
    sign(said) {
      const signed = { ...said, keyId };
      const signature = sign(null, statementOf(signed), privateKey).toString('base64');
      return { ...signed, signature };
    },
  };
};

/** Keys that a verifier trusts, by their ids. */
export type TrustedKeys = ReadonlyMap<string, KeyObject>;

export const isSigned = (seal: Checkpoint, keys: TrustedKeys): boolean => {
  const key = keys.get(seal.keyId);
  if (!key) return false;
  return verify(null, statementOf(seal), key, Buffer.from(seal.signature, 'base64'));
};
