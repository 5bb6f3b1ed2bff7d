import { expect } from 'chai';
import fc from 'fast-check';
import { decodeRecords, maxRecordBytes, RecordBuffer, type SpoolRecord } from './record.js';

const someRecords = fc.array(
  fc.record({
    sequence: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    key: fc.string({ unit: 'binary', maxLength: 40 }),
    value: fc.string({ unit: 'binary', maxLength: 400 }),
  }),
  { minLength: 1, maxLength: 12 },
);

/** The bytes of some records, and where each ends. */
const encode = (records: readonly SpoolRecord[]): { bytes: Buffer; ends: number[] } => {
  const buffer = new RecordBuffer(64);
  const ends = records.map((record) => {
    buffer.add(record);
    return buffer.length;
  });
  return { bytes: Buffer.from(buffer.bytes()), ends };
};

describe('redirect edge: spool’s records', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(someRecords, (records) => {
        const { bytes } = encode(records);
        expect(decodeRecords(bytes)).to.deep.equal({ records, bytes: bytes.length });
      }),
    );
  });

  it('are all whole ones before the cut, when the bytes are cut anywhere', () => {
    fc.assert(
      fc.property(someRecords, fc.nat(), (records, at) => {
        const { bytes, ends } = encode(records);
        const cut = at % (bytes.length + 1);
        const whole = ends.filter((end) => end <= cut).length;
        expect(decodeRecords(bytes.subarray(0, cut)).records).to.deep.equal(
          records.slice(0, whole),
        );
      }),
    );
  });

  it('are those before the damage, when any byte is changed', () => {
    fc.assert(
      fc.property(
        someRecords,
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (records, at, difference) => {
          const { bytes, ends } = encode(records);
          const damaged = at % bytes.length;
          bytes[damaged] = (bytes[damaged] ?? 0) ^ difference;
          const before = ends.filter((end) => end <= damaged).length;
          const decoded = decodeRecords(bytes);
          expect(decoded.records).to.deep.equal(records.slice(0, before));
          expect(decoded.bytes).to.equal(ends[before - 1] ?? 0);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('are none in zeros or noise', () => {
    expect(decodeRecords(Buffer.alloc(100_000)).records).to.be.empty;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (noise) => {
        expect(decodeRecords(Buffer.from(noise)).records).to.be.empty;
      }),
    );
  });

  it('are followed by nothing when zeros follow them', () => {
    const records = [{ sequence: 1, key: 'a', value: '{}' }];
    const { bytes } = encode(records);
    const padded = Buffer.concat([bytes, Buffer.alloc(4096)]);
    expect(decodeRecords(padded)).to.deep.equal({ records, bytes: bytes.length });
  });

  it('are refused when too long, and taken back, without a trace', () => {
    const buffer = new RecordBuffer(64);
    const kept = { sequence: 1, key: 'a', value: 'kept' };
    buffer.add(kept);
    expect(() => buffer.add({ sequence: 2, key: 'b', value: 'x'.repeat(maxRecordBytes) })).to.throw(
      RangeError,
    );
    buffer.takeBack(buffer.add({ sequence: 3, key: 'c', value: 'y' }));
    expect(decodeRecords(buffer.bytes()).records).to.deep.equal([kept]);
  });
});
