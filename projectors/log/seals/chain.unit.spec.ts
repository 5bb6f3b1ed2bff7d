import { expect } from 'chai';
import fc from 'fast-check';
import type { LogRecord } from '../../../ops/event-log/port.js';
import { chainOf, extendChain, fingerprintBytes, genesisOf } from './chain.js';

const topicPartition = { topic: 'linklog.links.v1', partition: 3 };
const genesis = genesisOf('log-1', topicPartition);

const numbered = (records: readonly { key: string; value: string }[]): readonly LogRecord[] =>
  records.map((record, offset) => ({ ...record, offset }));

const hashOf = (records: readonly LogRecord[]): string =>
  extendChain(topicPartition, genesis, records).hash.toString('hex');

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const someRecords = fc
  .array(fc.record({ key: text, value: text }), { minLength: 1, maxLength: 30 })
  .map(numbered);

describe('seals: chain of a partition', () => {
  it('is stable, because old signatures must remain valid', () => {
    const records = numbered([
      { key: 'hello', value: '{"a":1}' },
      { key: 'héllo', value: '' },
    ]);
    expect(genesis.toString('hex')).to.equal(
      '3e08870f052512990f9b7cbb2ccf8b9169977a47dc6024084c3ae5054f742d01',
    );
    expect(hashOf(records)).to.equal(
      '13e2c52fea2c063b2a99cde3c61d0c177de56c631f026e02e35de0026180f3a1',
    );
  });

  it('starts with a different hash for each log, topic and partition', () => {
    const hashes = [
      genesis,
      genesisOf('log-2', topicPartition),
      genesisOf('log-1', { ...topicPartition, partition: 4 }),
      genesisOf('log-1', { ...topicPartition, topic: 'linklog.visits.v1' }),
      // The same bytes with another boundary.
      genesisOf('log-1l', { ...topicPartition, topic: 'inklog.links.v1' }),
    ];
    expect(new Set(hashes.map((hash) => hash.toString('hex'))).size).to.equal(hashes.length);
  });

  it('is independent of the boundaries of batches', () => {
    fc.assert(
      fc.property(someRecords, fc.nat(), (records, at) => {
        const cut = at % records.length;
        const first = extendChain(topicPartition, genesis, records.slice(0, cut));
        const second = extendChain(topicPartition, first.hash, records.slice(cut));
        const whole = extendChain(topicPartition, genesis, records);
        expect(second.hash).to.deep.equal(whole.hash);
        expect(Buffer.concat([first.fingerprints, second.fingerprints])).to.deep.equal(
          whole.fingerprints,
        );
      }),
    );
  });

  it('accepts records of increasing length, and offsets above 2^32', () => {
    const link = chainOf(topicPartition);
    const small = { key: 'a', value: 'b', offset: 0 };
    const large = { key: 'a', value: 'é'.repeat(100_000), offset: 1 };
    const after = link(link(genesis, small), large);
    expect(after.toString('hex')).to.equal(hashOf([small, large]));
    expect(link(genesis, small)).not.to.deep.equal(link(genesis, { ...small, offset: 2 ** 40 }));
  });

  it('stores a prefix of the hash after each record', () => {
    const records = numbered(['1', '2'].map((value) => ({ key: 'a', value })));
    const { hash, fingerprints } = extendChain(topicPartition, genesis, records);
    expect(fingerprints).to.have.length(2 * fingerprintBytes);
    expect(fingerprints.subarray(fingerprintBytes)).to.deep.equal(
      hash.subarray(0, fingerprintBytes),
    );
  });
});
