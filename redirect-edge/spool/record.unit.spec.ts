import { expect } from 'chai';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { maxRecordBytes, RecordBuffer, recordsIn, UnknownRecordFormat } from './record.js';
import { codePoint } from '../../schemas/testing/code-point.js';

interface Written {
  readonly partition: number;
  readonly events: readonly string[];
}

const text = fc.string({ unit: codePoint, minLength: 1 }).map((event) => JSON.stringify(event));
const someRecords = fc.array(
  fc.record({ partition: fc.nat(7), events: fc.array(text, { minLength: 1, maxLength: 4 }) }),
  { minLength: 1, maxLength: 8 },
);

/** The bytes of records, and the end of each one. */
const encode = (records: readonly Written[]): { bytes: Buffer; ends: number[] } => {
  const buffer = new RecordBuffer(64);
  const ends = records.map(({ partition, events }) => {
    for (const event of events) buffer.add(partition, event);
    return buffer.bytes().length;
  });
  return { bytes: Buffer.from(buffer.bytes()), ends };
};

const decode = (bytes: Buffer): Written[] =>
  Array.from(recordsIn(bytes), ({ partition, visits, lines }) => {
    const events = lines.toString().split('\n');
    expect(events.pop()).to.equal('');
    expect(visits).to.equal(events.length);
    return { partition, events };
  });

describe('redirect edge: spool’s records', () => {
  it('are read as they were written, or the complete ones, if the bytes are truncated', () => {
    fc.assert(
      fc.property(someRecords, fc.nat(), (records, at) => {
        const { bytes, ends } = encode(records);
        expect(decode(bytes)).to.deep.equal(records);
        expect(Array.from(recordsIn(bytes), ({ end }) => end)).to.deep.equal(ends);
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
    const records = [{ partition: 3, events: ['{}'] }];
    const zeros = Buffer.alloc(4096);
    expect(decode(zeros)).to.be.empty;
    expect(decode(Buffer.concat([encode(records).bytes, zeros]))).to.deep.equal(records);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (noise) => {
        expect(decode(Buffer.from(noise))).to.be.empty;
      }),
    );
  });

  it('have the events of a partition, within the maximum size', () => {
    const buffer = new RecordBuffer(64);
    const events = Array.from({ length: 200 }, (_, index) => `${index}${'ü'.repeat(4_000)}`);
    expect(() => {
      buffer.add(1, 'x'.repeat(5_001));
    }).to.throw(RangeError);
    for (const [index, event] of events.entries()) buffer.add(index % 2, event);
    const bytes = buffer.bytes();
    const found = decode(bytes);
    for (const partition of [0, 1]) {
      const ofPartition = found.filter((record) => record.partition === partition);
      const expected = events.filter((_, index) => index % 2 === partition);
      expect(ofPartition.flatMap((record) => record.events)).to.deep.equal(expected);
    }
    expect(Math.max(...found.map((record) => record.events.length))).to.be.above(1);
    let start = 0;
    for (const { end } of recordsIn(bytes)) {
      expect(end - start).to.be.at.most(maxRecordBytes);
      start = end;
    }
    buffer.clear();
    expect(buffer.bytes()).to.be.empty;
  });

  it('of another version are refused, not treated as damage', () => {
    const { bytes } = encode([{ partition: 1, events: ['{}'] }]);
    bytes[8] = 5;
    bytes.writeUInt32BE(crc32(bytes.subarray(8)), 4);
    expect(() => decode(bytes)).to.throw(UnknownRecordFormat, 'format 5');
  });
});
