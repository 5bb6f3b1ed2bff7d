import { expect } from 'chai';
import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { murmur2, partitionOf } from './partition.js';
import { codePoint } from '../../schemas/testing/code-point.js';

const utf8 = new TextEncoder();

const kafkajs = Partitioners.DefaultPartitioner();

const byKafkajs = (key: string, count: number): number =>
  kafkajs({
    topic: 'any',
    partitionMetadata: Array.from({ length: count }, (_, partitionId) => ({
      partitionErrorCode: 0,
      partitionId,
      leader: 0,
      replicas: [],
      isr: [],
    })),
    message: { key, value: null },
  });

describe('platform: partition of a key', () => {
  // The vectors of Apache Kafka's own test of Utils.murmur2.
  for (const [key, hash] of [
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ] as const) {
    it(`uses Kafka’s murmur2: ${key}`, () => {
      expect(murmur2(utf8.encode(key))).to.equal(hash);
    });
  }

  it('hashes the bytes of a view, not those around them', () => {
    const around = utf8.encode('xxfoobarxx');
    expect(murmur2(around.subarray(2, 8))).to.equal(murmur2(utf8.encode('foobar')));
  });

  const anyKey = fc.oneof(
    fc.string({ unit: codePoint }),
    fc.string({ unit: 'binary-ascii', maxLength: 300, size: 'max' }),
  );

  it('equals the choice of a Kafka client for any key and count', () => {
    fc.assert(
      fc.property(anyKey, fc.integer({ min: 1, max: 64 }), (key, count) => {
        expect(partitionOf(key, count)).to.equal(byKafkajs(key, count));
      }),
      { numRuns: 500 },
    );
  });

  it('uses all partitions', () => {
    const used = new Set(Array.from({ length: 500 }, (_, index) => partitionOf(`k${index}`, 8)));
    expect([...used].sort()).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});
