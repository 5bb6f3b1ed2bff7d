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
const chain = { topic, partition: 3 } as const;
const logId = 'log-1';
const { privateKey } = generateKeyPairSync('ed25519');
const signer = signerOf(privateKey);
const keys = new Map([[signer.keyId, createPublicKey(privateKey)]]);
/** Can write everything, but does not have the key. */
const forger: Signer = {
  ...signer,
  sign: (checkpoint) => ({
    ...signerOf(generateKeyPairSync('ed25519').privateKey).sign(checkpoint),
    keyId: signer.keyId,
  }),
};

const numbered = (values: readonly string[]): readonly LogRecord[] =>
  values.map((value, offset) => ({ offset, key: 'hello', value }));

const log20 = numbered(Array.from({ length: 20 }, (_, index) => `event ${index}`));

const sealsOf = (
  records: readonly LogRecord[],
  ends: readonly number[],
  by: Signer = signer,
): readonly StoredSeal[] => {
  let hash = genesisOf(logId, chain);
  let from = 0;
  return ends.map((nextOffset) => {
    const grown = extendChain(chain, hash, records.slice(from, nextOffset));
    const storedFingerprints = grown.fingerprints;
    hash = grown.hash;
    const seal = by.sign({
      ...{ logId, ...chain, nextOffset, hash: hash.toString('hex') },
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
        const selected = records.filter(({ offset }) => offset >= from && offset < to);
        for (let at = 0; at < selected.length; at += 3) {
          await Promise.resolve();
          yield { topic, partition, records: selected.slice(at, at + 3) };
        }
      },
    },
    topic,
    range: { partition: 3, first, next: (records.at(-1)?.offset ?? -1) + 1 },
    newest: newestUpTo(Infinity),
    known,
    store: {
      async *upTo(_chain, to) {
        await Promise.resolve();
        yield* upTo(to);
      },
      newest: (_chain, _keys, to) => Promise.resolve(newestUpTo(to ?? Infinity)),
    },
    keys,
    onRecords: () => undefined,
  });
};

const changed = (records: readonly LogRecord[], at: number): readonly LogRecord[] =>
  records.map((record) => (record.offset === at ? { ...record, value: 'altered' } : record));

const exactly = (offset: number, what = 'differs') => ({ first: offset, last: offset, what });

describe('audit: verification of a partition', () => {
  it('finds nothing in an unaltered log, and proves the sealed records, not later ones', async () => {
    expect(await verify(changed(log20, 18))).to.include({ broken: null, provenTo: 18 });
    expect(await verify(log20)).to.deep.equal({
      ...chain,
      provenTo: 18,
      sealedAt: '2026-05-20T12:00:00.000Z',
      end: 20,
      broken: null,
      damagedSeals: [],
    });
  });

  it('reports the first bad offset of every kind of alteration', async () => {
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
              // A later alteration makes no difference.
              if (distance > 5) values[other] = 'altered too';
              break;
            case 'drop':
              values.splice(at, 1);
              break;
            case 'insert':
              values.splice(at, 0, 'inserted');
              break;
            case 'swap':
              [values[at], values[other]] = [values[other] ?? '', values[at] ?? ''];
              break;
            case 'key':
            case 'remove':
          }
          let records = numbered(values);
          if (kind === 'key') {
            records = records.map((record) =>
              record.offset === at ? { ...record, key: 'other' } : record,
            );
          }
          if (kind === 'remove') records = records.filter(({ offset }) => offset !== at);
          const { broken, provenTo } = await verify(records);
          expect(broken).to.deep.equal(exactly(at, kind === 'remove' ? 'missing' : 'differs'));
          expect(provenTo).to.equal(at);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('reports truncated records that a seal covers', async () => {
    expect((await verify(log20.slice(0, 14))).broken).to.deep.equal(exactly(14, 'missing'));
    expect((await verify([])).broken).to.deep.equal(exactly(0, 'missing'));
    expect((await verify(log20, seals20, null, 4)).broken).to.deep.equal(exactly(0, 'missing'));
  });

  it('reports records truncated with their seals if the verifier has a checkpoint', async () => {
    const known = seals20[2] ?? null;
    const cut = await verify(log20.slice(0, 12), seals20.slice(0, 2), known);
    expect(cut).to.deep.include({ broken: exactly(12, 'missing'), damagedSeals: [18] });
    expect(await verify(log20.slice(0, 12), seals20.slice(0, 2))).to.include({ broken: null });
  });

  it('proves a checkpoint whose seal was merged into a later one', async () => {
    const merged = sealsOf(log20, ends.slice(2));
    const proven = { broken: null, provenTo: 18, damagedSeals: [] };
    for (const known of seals20) {
      expect(await verify(log20, merged, known)).to.deep.include(proven);
    }
  });

  it('reports a range if only a checkpoint covers the offset', async () => {
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

  it('reports a log that was sealed again with the stolen key if there is a checkpoint', async () => {
    const altered = changed(log20, 7);
    const known = seals20[1] ?? null;
    const resealed = sealsOf(altered, ends);
    expect((await verify(altered, resealed)).broken).to.equal(null);
    expect((await verify(altered, resealed, known)).broken).to.deep.equal({
      first: 0,
      last: 11,
      what: 'sealed anew',
    });
  });

  it('ignores seals that were forged without the key', async () => {
    const altered = changed(log20, 7);
    const forged = sealsOf(altered, ends, forger);
    const [a, b, c] = [seals20[0], forged[1], seals20[2]];
    if (!a || !b || !c) throw new Error('expected three seals');
    // The forged seal matches the altered log; the next genuine one does not.
    const verdict = await verify(altered, [a, b, c]);
    expect(verdict.broken).to.deep.equal({ first: 5, last: 12, what: 'differs' });
    expect(verdict.provenTo).to.equal(5);
    // A record is changed together with the forged seal, and a later record is deleted.
    const dropped = await verify(
      altered.filter(({ offset }) => offset !== 9),
      [a, b, c],
    );
    expect(dropped.broken).to.deep.equal({ first: 5, last: 9, what: 'missing' });
  });

  it('reports missing and altered seals of an unaltered log', async () => {
    const [a, b, c] = seals20;
    if (!a || !b || !c) throw new Error('expected three seals');
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
    // An inserted seal that overlaps others hides none of them.
    const over = { ...a, nextOffset: 13, from: 2, storedFingerprints: Buffer.alloc(88) };
    expect(await verify(log20, [a, b, over, c])).to.deep.include({ ...whole, damagedSeals: [13] });
    expect((await verify(changed(log20, 15), [a, b, over, c])).broken).to.deep.equal(exactly(15));
  });
});
