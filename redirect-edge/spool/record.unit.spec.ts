import { expect } from 'chai';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { maxRecordBytes, RecordBuffer, recordsIn, UnknownRecordFormat } from './record.js';
import { codePoint } from '../../schemas/testing/code-point.js';

interface Written {
  readonly partition: number;
  readonly event: string;
}

const someRecords = fc.array(
  fc.record({ partition: fc.nat(7), event: fc.string({ unit: codePoint, minLength: 1 }) }),
  { minLength: 1, maxLength: 8 },
);

/** The bytes of records, and the end of each one. */
const encode = (records: readonly Written[]): { bytes: Buffer; ends: number[] } => {
  const buffer = new RecordBuffer(64);
  const ends = records.map(({ partition, event }) => {
    buffer.add(partition, event);
    return buffer.length;
  });
  return { bytes: Buffer.from(buffer.bytes()), ends };
};

const decode = (bytes: Buffer): Written[] =>
  Array.from(recordsIn(bytes), ({ partition, line }) => {
    const text = line.toString();
    expect(text.at(-1)).to.equal('\n');
    return { partition, event: text.slice(0, -1) };
  });

describe('redirect edge: spool’s records', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(someRecords, (records) => {
        const { bytes, ends } = encode(records);
        expect(decode(bytes)).to.deep.equal(records);
        expect(Array.from(recordsIn(bytes), ({ end }) => end)).to.deep.equal(ends);
      }),
      { numRuns: 50 },
    );
  });

  it('are the complete ones, if the bytes are truncated', () => {
    fc.assert(
      fc.property(someRecords, fc.nat(), (records, at) => {
        const { bytes, ends } = encode(records);
        const cut = at % (bytes.length + 1);
        const whole = ends.filter((end) => end <= cut).length;
        expect(decode(bytes.subarray(0, cut))).to.deep.equal(records.slice(0, whole));
      }),
      { numRuns: 50 },
    );
  });

  it('are those before a damaged byte', () => {
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
          expect(decode(bytes)).to.deep.equal(records.slice(0, before));
        },
      ),
      { numRuns: 150 },
    );
  });

  it('do not exist in random bytes or zeros, which may follow records', () => {
    const records = [{ partition: 3, event: '{}' }];
    const zeros = Buffer.alloc(4096);
    expect(decode(zeros)).to.be.empty;
    expect(decode(Buffer.concat([encode(records).bytes, zeros]))).to.deep.equal(records);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (noise) => {
        expect(decode(Buffer.from(noise))).to.be.empty;
      }),
    );
  });

  it('leave no bytes if an event is too long or the record is removed', () => {
    const buffer = new RecordBuffer(64);
    buffer.add(1, 'first');
    for (const event of ['x'.repeat(maxRecordBytes), 'ü'.repeat(maxRecordBytes / 2)]) {
      expect(() => buffer.add(2, event)).to.throw(RangeError);
    }
    buffer.removeLast(buffer.add(3, 'removed'));
    buffer.add(4, 'second');
    expect(decode(buffer.bytes())).to.deep.equal([
      { partition: 1, event: 'first' },
      { partition: 4, event: 'second' },
    ]);
  });

  it('of another version are refused, not treated as damage', () => {
    const { bytes } = encode([{ partition: 1, event: '{}' }]);
    bytes[8] = 5;
    bytes.writeUInt32BE(crc32(bytes.subarray(8)), 4);
    expect(() => decode(bytes)).to.throw(UnknownRecordFormat, 'format 5');
  });
});
