import { createPublicKey, hash as digest, sign, verify, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { jsonText } from '../../../ops/platform/parse.js';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** The signed text has one line for each field, so names must not contain line breaks. */
const oneLine = z.string().regex(/^[^\r\n]+$/);

/** States the hash of a partition's chain at an offset. */
const statement = z.strictObject({
  logId: oneLine,
  topic: oneLine,
  partition: z.int().min(0),
  /** The offset after the last covered record. */
  nextOffset: z.int().min(1),
  hash: sha256,
  /** SHA-256 of the fingerprints of the covered records. */
  fingerprints: sha256,
  time: z.iso.datetime(),
  keyId: z.string().regex(/^[0-9a-f]{32}$/),
});

type SealStatement = z.infer<typeof statement>;

const checkpoint = statement.extend({ signature: z.base64() });

export type SignedCheckpoint = z.infer<typeof checkpoint>;

/** The file that a verifier stores where no writer of the log can change it. */
export const checkpointFile = jsonText.pipe(
  z.strictObject({ linklogSeals: z.literal(1), checkpoints: z.array(checkpoint).min(1) }),
);

export const checkpointText = (checkpoints: readonly SignedCheckpoint[]): string =>
  `${JSON.stringify({ linklogSeals: 1, checkpoints }, null, 2)}\n`;

/** The signed bytes. */
const statementOf = (seal: SealStatement): Buffer =>
  Buffer.from(
    [
      'linklog seal v1',
      `log ${seal.logId}`,
      `topic ${seal.topic}`,
      `partition ${seal.partition}`,
      `next ${seal.nextOffset}`,
      `chain ${seal.hash}`,
      `fingerprints ${seal.fingerprints}`,
      `time ${seal.time}`,
      `key ${seal.keyId}`,
      '',
    ].join('\n'),
  );

export const fingerprintsDigest = (fingerprints: Buffer): string =>
  digest('sha256', fingerprints, 'hex');

/** Returns the first half of the SHA-256 of the public key, in hex. */
export const keyIdOf = (publicKey: KeyObject): string =>
  digest('sha256', publicKey.export({ type: 'spki', format: 'der' }), 'hex').slice(0, 32);

export const isEd25519 = (key: KeyObject): boolean => key.asymmetricKeyType === 'ed25519';

export const signerOf = (privateKey: KeyObject) => {
  const publicKey = createPublicKey(privateKey);
  const keyId = keyIdOf(publicKey);
  return {
    keyId,
    publicKey,
    sign(seal: Omit<SealStatement, 'keyId'>): SignedCheckpoint {
      const signed = { ...seal, keyId };
      const signature = sign(null, statementOf(signed), privateKey).toString('base64');
      return { ...signed, signature };
    },
  };
};

export type Signer = ReturnType<typeof signerOf>;

export const sealColumns = `next_offset AS "nextOffset", hash, fingerprints AS "storedFingerprints",
  sealed_at AS time, key_id AS "keyId", signature`;

export interface SealRow {
  readonly nextOffset: number;
  readonly hash: Buffer;
  readonly storedFingerprints: Buffer;
  readonly time: Date;
  readonly keyId: string;
  readonly signature: Buffer;
}

/** Converts a row, whose content is not trusted. */
export const checkpointOfRow = (
  { logId, topic, partition }: Pick<SealStatement, 'logId' | 'topic' | 'partition'>,
  row: SealRow,
): SignedCheckpoint => ({
  ...{ logId, topic, partition },
  nextOffset: row.nextOffset,
  hash: row.hash.toString('hex'),
  fingerprints: fingerprintsDigest(row.storedFingerprints),
  time: row.time.toISOString(),
  keyId: row.keyId,
  signature: row.signature.toString('base64'),
});

export type TrustedKeys = ReadonlyMap<string, KeyObject>;

export const isSigned = (seal: SignedCheckpoint, keys: TrustedKeys): boolean => {
  const key = keys.get(seal.keyId);
  if (!key) return false;
  return verify(null, statementOf(seal), key, Buffer.from(seal.signature, 'base64'));
};
