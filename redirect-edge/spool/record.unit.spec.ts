import { expect } from 'chai';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import {
  readRecord,
  RecordBuffer,
  recordsIn,
  UnknownRecordFormat,
  type NewVisit,
} from './record.js';
import { anyVisit } from './testing/any-visit.js';
import { visit } from './testing/harness.js';

const someVisits = fc.array(
  fc.record({ sequence: fc.integer({ min: 1, max: 2 ** 48 - 1 }), visit: anyVisit }),
  { minLength: 1, maxLength: 12 },
);

interface NumberedVisit {
  readonly sequence: number;
  readonly visit: NewVisit;
}

/** The bytes of some visits, and where the record of each ends. */
const encode = (visits: readonly NumberedVisit[]): { bytes: Buffer; ends: number[] } => {
  const buffer = new RecordBuffer(64);
  const ends = visits.map(({ sequence, visit: one }) => {
    buffer.add(sequence, one);
    return buffer.length;
  });
  return { bytes: Buffer.from(buffer.bytes()), ends };
};

const decode = (bytes: Buffer): NumberedVisit[] =>
  [...recordsIn(bytes)].map((place) => {
    const record = readRecord(bytes, place);
    if (record.type !== 'visit') throw new Error('Visits were written');
    return { sequence: place.sequence, visit: record.visit };
  });

describe('redirect edge: spool’s records', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(someVisits, (visits) => {
        const { bytes, ends } = encode(visits);
        expect(decode(bytes)).to.deep.equal(visits);
        expect([...recordsIn(bytes)].map(({ end }) => end)).to.deep.equal(ends);
      }),
    );
  });

  it('are all whole ones before the cut, when the bytes are cut anywhere', () => {
    fc.assert(
      fc.property(someVisits, fc.nat(), (visits, at) => {
        const { bytes, ends } = encode(visits);
        const cut = at % (bytes.length + 1);
        const whole = ends.filter((end) => end <= cut).length;
        expect(decode(bytes.subarray(0, cut))).to.deep.equal(visits.slice(0, whole));
      }),
    );
  });

  it('are those before the damage, when any byte is changed', () => {
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
      { numRuns: 1000 },
    );
  });

  it('are none in zeros or noise', () => {
    expect(decode(Buffer.alloc(100_000))).to.be.empty;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (noise) => {
        expect(decode(Buffer.from(noise))).to.be.empty;
      }),
    );
  });

  it('are followed by nothing when zeros follow them', () => {
    const visits = [{ sequence: 1, visit: visit(1) }];
    const { bytes } = encode(visits);
    expect(decode(Buffer.concat([bytes, Buffer.alloc(4096)]))).to.deep.equal(visits);
  });

  it('are refused when a text is too long, and taken back, without a trace', () => {
    const buffer = new RecordBuffer(64);
    buffer.add(1, visit(1));
    for (const long of ['x'.repeat(255), 'ü'.repeat(128)]) {
      expect(() => buffer.add(2, { ...visit(2), code: long })).to.throw(RangeError);
    }
    buffer.removeLast(buffer.add(3, visit(3)));
    const longest = { ...visit(4), code: 'ü'.repeat(127), account: 'x'.repeat(254) };
    buffer.add(4, longest);
    expect(decode(buffer.bytes())).to.deep.equal([
      { sequence: 1, visit: visit(1) },
      { sequence: 4, visit: longest },
    ]);
  });

  it('take some 60 bytes of a visit, and no more than 110 of one with all data', () => {
    const buffer = new RecordBuffer();
    expect(buffer.add(1, visit(1))).to.be.below(60);
    const data: NewVisit['data'] = {
      bot: false,
      country: 'DE',
      referrer: 'news.example.com',
      browser: 'Chrome',
      os: 'Android',
      device: 'mobile',
      language: 'de',
      visitor: 'abcdefghijklmnop',
      trigger: 'link',
      version: 1,
    };
    expect(buffer.add(2, { ...visit(2), requestId: undefined, data })).to.be.below(110);
  });

  it('of a later release are refused, not taken for damage', () => {
    const { bytes } = encode([{ sequence: 1, visit: visit(1) }]);
    bytes[8] = 2;
    bytes.writeUInt32BE(crc32(bytes.subarray(8)), 4);
    expect(() => decode(bytes)).to.throw(UnknownRecordFormat, 'format 2');
  });
});
