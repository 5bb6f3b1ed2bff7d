import { expect } from 'chai';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import {
  checkpointFile,
  isSigned,
  keyIdOf,
  signerOf,
  type SignedCheckpoint,
} from './signed-checkpoint.js';

const statement = {
  logId: 'postgres:1:linklog.links.v1',
  topic: 'linklog.links.v1',
  partition: 3,
  nextOffset: 17,
  hash: 'a'.repeat(64),
  fingerprints: 'b'.repeat(64),
  time: '2026-05-20T12:00:00.000Z',
};

describe('seals: checkpoint', () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const signer = signerOf(privateKey);
  const keys = new Map([[signer.keyId, createPublicKey(privateKey)]]);
  const signed = signer.sign(statement);

  it('is valid with the signature of the private key', () => {
    expect(isSigned(signed, keys)).to.equal(true);
    expect(signed.keyId).to.equal(keyIdOf(signer.publicKey));
  });

  it('is invalid with the signature of another key or of an untrusted key', () => {
    const other = signerOf(generateKeyPairSync('ed25519').privateKey);
    expect(isSigned(other.sign(statement), keys)).to.equal(false);
    expect(isSigned({ ...other.sign(statement), keyId: signer.keyId }, keys)).to.equal(false);
    expect(isSigned(signed, new Map())).to.equal(false);
  });

  const changes: Partial<SignedCheckpoint>[] = [
    { logId: 'postgres:2:linklog.links.v1' },
    { topic: 'linklog.visits.v1' },
    { partition: 4 },
    { nextOffset: 18 },
    { hash: 'c'.repeat(64) },
    { fingerprints: 'c'.repeat(64) },
    { time: '2026-05-20T12:00:00.001Z' },
    { signature: Buffer.alloc(64).toString('base64') },
    { signature: '' },
  ];
  for (const change of changes) {
    it(`is invalid after a change of its ${Object.keys(change).join()}`, () => {
      expect(isSigned({ ...signed, ...change }, keys)).to.equal(false);
    });
  }

  it('is read from a file unchanged; a name with a line break is refused', () => {
    const file = { linklogSeals: 1, checkpoints: [signed] };
    expect(checkpointFile.parse(JSON.stringify(file)).checkpoints).to.deep.equal([signed]);
    const forged = { ...signed, topic: 'linklog.links.v1\npartition 4' };
    const text = JSON.stringify({ ...file, checkpoints: [forged] });
    expect(checkpointFile.safeParse(text).success).to.equal(false);
  });
});
