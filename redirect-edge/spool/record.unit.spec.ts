import { expect } from 'chai';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { maxCodeLength, subjectOf } from '../../schemas/link-subject.js';
import { crc32Of } from './crc32.js';
import { readRecord, RecordBuffer, recordsIn } from './record.js';
import { UnknownRecordFormat, type NewVisit } from './record.js';
import { anyVisit } from './testing/any-visit.js';
import { visit } from './testing/harness.js';

const sequence = fc.integer({ min: 1, max: 2 ** 48 - 1 });
const someVisits = fc.array(fc.record({ sequence, visit: anyVisit }), {
  minLength: 1,
  maxLength: 8,
});

interface NumberedVisit {
  readonly sequence: number;
  readonly visit: NewVisit;
}

/** The bytes of visits, and the end of each record. */
const encode = (visits: readonly NumberedVisit[]): { bytes: Buffer; ends: number[] } => {
  const buffer = new RecordBuffer(64);
  const ends = visits.map((numbered) => {
    buffer.add(numbered.sequence, numbered.visit);
    return buffer.length;
  });
  return { bytes: Buffer.from(buffer.bytes()), ends };
};

const decode = (bytes: Buffer): NumberedVisit[] =>
  [...recordsIn(bytes)].map((range) => {
    const record = readRecord(bytes, range);
    if (record.type !== 'visit') throw new Error(`the record is ${record.type}, not a visit`);
    return { sequence: range.sequence, visit: record.visit };
  });

describe('redirect edge: spool’s records', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(someVisits, (visits) => {
        const { bytes, ends } = encode(visits);
        expect(decode(bytes)).to.deep.equal(visits);
        expect([...recordsIn(bytes)].map(({ end }) => end)).to.deep.equal(ends);
      }),
      { numRuns: 50 },
    );
  });

  it('are the complete ones, if the bytes are truncated', () => {
    fc.assert(
      fc.property(someVisits, fc.nat(), (visits, at) => {
        const { bytes, ends } = encode(visits);
        const cut = at % (bytes.length + 1);
        const whole = ends.filter((end) => end <= cut).length;
        expect(decode(bytes.subarray(0, cut))).to.deep.equal(visits.slice(0, whole));
      }),
      { numRuns: 50 },
    );
  });

  it('are those before a damaged byte', () => {
    fc.assert(
      fc.property(
        someVisits,
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (visits, at, difference) => {
          const { bytes, ends } = encode(visits);
          const damaged = at % bytes.length;
          bytes[damaged] = (bytes[damaged] ?? 0) ^ difference;
          const before = ends.filter((end) => end <= damaged).length;
          expect(decode(bytes)).to.deep.equal(visits.slice(0, before));
        },
      ),
      { numRuns: 150 },
    );
  });

  it('do not exist in random bytes or zeros, which may follow records', () => {
    const visits = [{ sequence: 1, visit: visit(1) }];
    const zeros = Buffer.alloc(4096);
    expect(decode(zeros)).to.be.empty;
    expect(decode(Buffer.concat([encode(visits).bytes, zeros]))).to.deep.equal(visits);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (noise) => {
        expect(decode(Buffer.from(noise))).to.be.empty;
      }),
    );
  });

  it('leave no bytes if a text is too long or the record is removed', () => {
    const buffer = new RecordBuffer(64);
    buffer.add(1, visit(1));
    for (const account of ['x'.repeat(255), 'ü'.repeat(128)]) {
      expect(() => buffer.add(2, { ...visit(2), account })).to.throw(RangeError);
    }
    for (const subject of ['x'.repeat(1_025), 'ü'.repeat(513)]) {
      expect(() => buffer.add(2, { ...visit(2), subject })).to.throw(RangeError);
    }
    buffer.removeLast(buffer.add(3, visit(3)));
    const longest = { ...visit(4), subject: 'ü'.repeat(512), account: 'x'.repeat(254) };
    buffer.add(4, longest);
    expect(decode(buffer.bytes())).to.deep.equal([
      { sequence: 1, visit: visit(1) },
      { sequence: 4, visit: longest },
    ]);
  });

  it('have room for the longest code on the longest domain', () => {
    const buffer = new RecordBuffer(64);
    const code = '🎉'.repeat(maxCodeLength);
    const visited = { ...visit(1), subject: subjectOf({ domain: 'x'.repeat(253), code }) };
    buffer.add(1, visited);
    expect(decode(buffer.bytes())).to.deep.equal([{ sequence: 1, visit: visited }]);
  });

  it('have about 60 bytes, and at most 120 with all data', () => {
    const buffer = new RecordBuffer();
    expect(buffer.add(1, visit(1))).to.be.below(60);
    const data: NewVisit['data'] = {
      ...{ bot: false, country: 'DE', referrer: 'news.example.com', browser: 'Chrome' },
      ...{ os: 'Android', device: 'mobile', language: 'de', visitor: 'abcdefghijklmnop' },
      ...{ trigger: 'link', version: 1, target: 'test/b' },
    };
    expect(buffer.add(2, { ...visit(2), requestId: undefined, data })).to.be.below(120);
  });

  /** A record of an earlier release, from that of this release without its header. */
  const earlierRecord = (format: number, body: Buffer): Buffer => {
    const header = Buffer.alloc(8);
    const earlier = Buffer.concat([header, body]);
    earlier[8] = format;
    earlier.writeUInt32BE(body.length, 0);
    earlier.writeUInt32BE(crc32(earlier.subarray(8)), 4);
    return earlier;
  };

  it('of earlier releases have a short subject, and at first no target', () => {
    const { bytes } = encode([{ sequence: 1, visit: visit(1) }]);
    // The length of the subject, which follows 18 bytes, had one byte.
    const withTarget = Buffer.concat([bytes.subarray(8, 26), bytes.subarray(27)]);
    // The last byte is the length of the target: 255 for null.
    const withoutTarget = withTarget.subarray(0, -1);
    for (const earlier of [earlierRecord(2, withTarget), earlierRecord(1, withoutTarget)]) {
      expect(decode(earlier)).to.deep.equal([{ sequence: 1, visit: visit(1) }]);
    }
  });

  it('of a later release are refused, not treated as damage', () => {
    const { bytes } = encode([{ sequence: 1, visit: visit(1) }]);
    bytes[8] = 4;
    bytes.writeUInt32BE(crc32(bytes.subarray(8)), 4);
    expect(() => decode(bytes)).to.throw(UnknownRecordFormat, 'format 4');
  });
});

describe('redirect edge: CRC-32', () => {
  it('is equal to that of zlib for any range of bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), fc.nat(300), (bytes, a, b) => {
        const [start = 0, end = 0] = [a, b]
          .map((offset) => Math.min(offset, bytes.length))
          .sort((x, y) => x - y);
        expect(crc32Of(bytes, start, end)).to.equal(crc32(bytes.subarray(start, end)));
      }),
      { numRuns: 300 },
    );
  });
});
