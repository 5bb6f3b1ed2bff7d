import { expect } from 'chai';
import fc from 'fast-check';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { LogRecord } from '../../../event-log/port.js';
import { extendChain, genesisOf } from '../../../../projectors/log/seals/chain.js';
import {
  fingerprintsDigest,
  isSigned,
  signerOf,
  type SignedCheckpoint,
  type Signer,
} from '../../../../projectors/log/seals/signed-checkpoint.js';
import { verifyPartition, type PartitionVerdict } from './partition.js';
import type { StoredSeal } from '../../../../projectors/log/seals/seal-store.js';

const topic = 'linklog.links.v1';
const place = { topic, partition: 3 } as const;
const logId = 'log-1';
const { privateKey } = generateKeyPairSync('ed25519');
const signer = signerOf(privateKey);
const keys = new Map([[signer.keyId, createPublicKey(privateKey)]]);
/** Somebody who can write everything, and has not the key. */
const forger: Signer = {
  ...signer,
  sign: (said) => ({
    ...signerOf(generateKeyPairSync('ed25519').privateKey).sign(said),
    keyId: signer.keyId,
  }),
};

const numbered = (values: readonly string[]): readonly LogRecord[] =>
  values.map((value, offset) => ({ offset, key: 'hello', value }));

const log20 = numbered(Array.from({ length: 20 }, (_, index) => `event ${index}`));

/** Seals that end at these offsets. */
const sealsOf = (
  records: readonly LogRecord[],
  ends: readonly number[],
  by: Signer = signer,
): readonly StoredSeal[] => {
  let hash = genesisOf(logId, place);
  let from = 0;
  return ends.map((nextOffset) => {
    const grown = extendChain(place, hash, records.slice(from, nextOffset));
    const storedFingerprints = grown.fingerprints;
    hash = grown.hash;
    const seal = by.sign({
      ...{ logId, ...place, nextOffset, hash: hash.toString('hex') },
      fingerprints: fingerprintsDigest(storedFingerprints),
      time: '2026-05-20T12:00:00.000Z',
    });
    const stored = { ...seal, from, storedFingerprints };
    from = nextOffset;
    return stored;
  });
};

const ends = [5, 12, 18];
const seals20 = sealsOf(log20, ends);
const isGenuine = (seal: SignedCheckpoint): boolean => isSigned(seal, keys);

const verify = (
  records: readonly LogRecord[],
  seals: readonly StoredSeal[] = seals20,
  known: SignedCheckpoint | null = null,
  first = 0,
): Promise<PartitionVerdict> => {
  const upTo = (to: number): readonly StoredSeal[] =>
    seals.filter(({ nextOffset }) => nextOffset <= to);
  const newestUpTo = (to: number): StoredSeal | null => upTo(to).filter(isGenuine).at(-1) ?? null;
  return verifyPartition({
    log: {
      logId: () => logId,
      async *read(_topic, partition, from, to) {
        // In pieces, as a log gives them.
        const held = records.filter(({ offset }) => offset >= from && offset < to);
        for (let at = 0; at < held.length; at += 3) {
          await Promise.resolve();
          yield { topic, partition, records: held.slice(at, at + 3) };
        }
      },
    },
    topic,
    range: { partition: 3, first, next: (records.at(-1)?.offset ?? -1) + 1 },
    newest: newestUpTo(Infinity),
    known,
    store: {
      async *upTo(_place, to) {
        await Promise.resolve();
        yield* upTo(to);
      },
      newest: (_place, _keys, to) => Promise.resolve(newestUpTo(to ?? Infinity)),
    },
    keys,
    onRecords: () => undefined,
  });
};

const changed = (records: readonly LogRecord[], at: number): readonly LogRecord[] =>
  records.map((record) => (record.offset === at ? { ...record, value: 'altered' } : record));

const exactly = (offset: number, what = 'differs') => ({ first: offset, last: offset, what });

describe('audit: verification of a partition', () => {
  it('finds nothing where nothing was done, and proves what seals cover', async () => {
    expect(await verify(log20)).to.deep.equal({
      ...place,
      provenTo: 18,
      sealedAt: '2026-05-20T12:00:00.000Z',
      end: 20,
      broken: null,
      damagedSeals: [],
    });
  });

  it('names the first bad offset of whatever was done, wherever that is', async () => {
    const kinds = ['change', 'key', 'remove', 'drop', 'insert', 'swap'] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 17 }),
        fc.constantFrom(...kinds),
        fc.integer({ min: 1, max: 10 }),
        async (at, kind, distance) => {
          const values = log20.map(({ value }) => value);
          const other = Math.min(at + distance, 19);
          switch (kind) {
            case 'change':
              values[at] = 'altered';
              // More that is bad behind it makes no difference.
              if (distance > 5) values[other] = 'altered too';
              break;
            case 'drop':
              values.splice(at, 1);
              break;
            case 'insert':
              values.splice(at, 0, 'put in');
              break;
            case 'swap':
              [values[at], values[other]] = [values[other] ?? '', values[at] ?? ''];
              break;
            case 'key':
            case 'remove':
          }
          let records = numbered(values);
          if (kind === 'key') {
            records = records.map((one) => (one.offset === at ? { ...one, key: 'other' } : one));
          }
          if (kind === 'remove') records = records.filter(({ offset }) => offset !== at);
          const { broken, provenTo } = await verify(records);
          expect(broken).to.deep.equal(exactly(at, kind === 'remove' ? 'missing' : 'differs'));
          expect(provenTo).to.equal(at);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('does not mind what comes after the last seal: that is not proven', async () => {
    expect(await verify(changed(log20, 18))).to.include({ broken: null, provenTo: 18 });
  });

  it('finds records cut off that a seal covers', async () => {
    expect((await verify(log20.slice(0, 14))).broken).to.deep.equal(exactly(14, 'missing'));
    expect((await verify([])).broken).to.deep.equal(exactly(0, 'missing'));
    expect((await verify(log20, seals20, null, 4)).broken).to.deep.equal(exactly(0, 'missing'));
  });

  it('finds records cut off together with their seals by the checkpoint that the verifier has', async () => {
    const known = seals20[2] ?? null;
    const cut = await verify(log20.slice(0, 12), seals20.slice(0, 2), known);
    expect(cut).to.deep.include({ broken: exactly(12, 'missing'), damagedSeals: [18] });
    expect(await verify(log20.slice(0, 12), seals20.slice(0, 2))).to.include({ broken: null });
  });

  it('needs no stored seal where the verifier has a checkpoint, but cannot be exact then', async () => {
    const known = seals20[2] ?? null;
    expect(await verify(log20, [], known)).to.deep.include({
      broken: null,
      provenTo: 18,
      damagedSeals: [18],
    });
    const { broken } = await verify(changed(log20, 7), [], known);
    expect(broken).to.deep.equal({ first: 0, last: 17, what: 'differs' });
    const later = await verify(changed(log20, 14), seals20.slice(0, 2), known);
    expect(later.broken).to.deep.equal({ first: 12, last: 17, what: 'differs' });
  });

  it('finds a log that was sealed anew with the stolen key, by the checkpoint', async () => {
    const altered = changed(log20, 7);
    const known = seals20[1] ?? null;
    const anew = sealsOf(altered, ends);
    expect((await verify(altered, anew)).broken).to.equal(null);
    expect((await verify(altered, anew, known)).broken).to.deep.equal({
      first: 0,
      last: 11,
      what: 'sealed anew',
    });
  });

  it('is not led astray by seals that were forged without the key', async () => {
    const altered = changed(log20, 7);
    const forged = sealsOf(altered, ends, forger);
    const [a, b, c] = [seals20[0], forged[1], seals20[2]];
    if (!a || !b || !c) throw new Error('There are three seals');
    // The forged seal fits the altered log; the next genuine one does not.
    const verdict = await verify(altered, [a, b, c]);
    expect(verdict.broken).to.deep.equal({ first: 5, last: 12, what: 'differs' });
    expect(verdict.provenTo).to.equal(5);
    // One record changed and the forged seal with it, a later one dropped.
    const dropped = await verify(
      altered.filter(({ offset }) => offset !== 9),
      [a, b, c],
    );
    expect(dropped.broken).to.deep.equal({ first: 5, last: 9, what: 'missing' });
  });

  it('names seals that are gone or altered, where the log itself is as it was', async () => {
    const [a, b, c] = seals20;
    if (!a || !b || !c) throw new Error('There are three seals');
    const whole = { broken: null, provenTo: 18 };
    expect(await verify(log20, [a, c])).to.deep.include({ ...whole, damagedSeals: [12] });
    const storedFingerprints = Buffer.from(b.storedFingerprints);
    storedFingerprints.writeUInt8(storedFingerprints.readUInt8(20) ^ 1, 20);
    const altered = {
      ...b,
      storedFingerprints,
      fingerprints: fingerprintsDigest(storedFingerprints),
    };
    expect(await verify(log20, [a, altered, c])).to.deep.include({ ...whole, damagedSeals: [12] });
    // A seal put in, over others, hides none of them.
    const over = { ...a, nextOffset: 13, from: 2, storedFingerprints: Buffer.alloc(88) };
    expect(await verify(log20, [a, b, over, c])).to.deep.include({ ...whole, damagedSeals: [13] });
    expect((await verify(changed(log20, 15), [a, b, over, c])).broken).to.deep.equal(exactly(15));
  });
});
