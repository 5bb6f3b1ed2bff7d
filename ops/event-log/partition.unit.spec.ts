import { expect } from 'chai';
import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { partitionOf } from './partition.js';
import { codePoint } from '../../schemas/testing/code-point.js';

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
});
