import { expect } from 'chai';
import fc from 'fast-check';
import { createRequire } from 'node:module';
import { recordBatch } from './record-batch.js';
import { codePoint } from '../../../schemas/testing/code-point.js';

const load = createRequire(import.meta.url);

type Encode<Parts> = (parts: Parts) => unknown;

/** kafkajs's own decoder and encoders, which know the fields of batches that no transaction is about. */
const kafkajs = {
  record: load('kafkajs/src/protocol/recordBatch/record/v0/index.js') as Encode<object>,
  batch: (
    load('kafkajs/src/protocol/recordBatch/v0/index.js') as {
      RecordBatch: (parts: object) => Promise<{ readonly buffer: Buffer }>;
    }
  ).RecordBatch,
  Decoder: load('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => object,
  read: load('kafkajs/src/protocol/recordBatch/v0/decoder.js') as (decoder: object) => Promise<{
    readonly records: readonly { key: Buffer; value: Buffer; offset: string }[];
  }>,
  crc32c: load('kafkajs/src/protocol/recordBatch/crc32C/index.js') as (bytes: Buffer) => number,
};

const byKafkajs = async (
  records: readonly { key: Buffer; value: Buffer }[],
  now: number,
): Promise<Buffer> => {
  const { buffer } = await kafkajs.batch({
    firstTimestamp: now,
    maxTimestamp: now,
    partitionLeaderEpoch: -1,
    lastOffsetDelta: records.length - 1,
    producerEpoch: -1,
    firstSequence: -1,
    records: records.map(({ key, value }, offsetDelta) =>
      kafkajs.record({
        key,
        value,
        offsetDelta,
        headers: { 'content-type': 'application/cloudevents+json' },
      }),
    ),
  });
  return buffer;
};

describe('platform: record batch', () => {
  const now = 1_790_000_000_000;

  it('equals the encoding of kafkajs', async () => {
    const text = fc.string({ unit: codePoint, maxLength: 300 }).map((chars) => Buffer.from(chars));
    const records = fc.array(fc.record({ key: text, value: text }), {
      minLength: 1,
      maxLength: 100,
    });
    await fc.assert(
      fc.asyncProperty(records, async (input) => {
        const batch = await recordBatch(input, { now, compression: 'none' });
        expect(batch.equals(await byKafkajs(input, now))).to.be.true;
      }),
      { numRuns: 25 },
    );
  });

  it('is smaller when compressed, and kafkajs reads the same records', async () => {
    const records = Array.from({ length: 1_000 }, (_, index) => ({
      key: Buffer.from(`key-${index}`),
      value: Buffer.from(`{"id":"${index}","data":{"bot":false}}`),
    }));
    const plain = await recordBatch(records, { now, compression: 'none' });
    const batch = await recordBatch(records, { now, compression: 'gzip' });
    expect(batch.length).to.be.below(plain.length / 4);
    const read = await kafkajs.read(new kafkajs.Decoder(batch));
    expect(read.records.map(({ key, value }) => ({ key, value }))).to.deep.equal(records);
    expect(read.records.map(({ offset }) => Number(offset))).to.deep.equal([...records.keys()]);
    // From behind the checksum on; kafkajs does not check it.
    expect(batch.readUInt32BE(17)).to.equal(kafkajs.crc32c(batch.subarray(21)));
  });

  it('has records of any length, and thousands of them', async () => {
    for (const [count, length] of [
      [1, 0],
      [1, 8_191],
      [1, 8_192],
      [1, 1_048_576],
      [8_193, 1],
    ] as const) {
      const record = { key: Buffer.from('a'), value: Buffer.alloc(length, 'x') };
      const records = Array.from({ length: count }, () => record);
      const batch = await recordBatch(records, { now, compression: 'none' });
      expect(batch.equals(await byKafkajs(records, now)), `${count} of ${length}`).to.be.true;
    }
  });
});
