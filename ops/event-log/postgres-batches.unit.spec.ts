import { expect } from 'chai';
import fc from 'fast-check';
import { lineLimits, linesIn } from './lines.js';
import { rowsOf, unpack, unpackLater, type LogRow, type PlacedRecord } from './postgres-batches.js';

const event = (subject: string, data = ''): string =>
  JSON.stringify({ id: '1', subject, time: '2026-01-01T00:00:00.000Z', data });

const visit = (key: string, partitionId = 1): PlacedRecord => ({
  ...{ partitionId, key, sequence: null },
  value: event(key),
});

const decided = (key: string): PlacedRecord => ({ ...visit(key), sequence: 1 });

/** The rows of one partition, where they come to stand. */
const placed = (records: readonly PlacedRecord[], partitionId: number): readonly LogRow[] => {
  let firstOffset = 0;
  return rowsOf(records)
    .filter((row) => row.partitionId === partitionId)
    .map((row) => {
      const at = { ...row, value: String(row.value), firstOffset };
      firstOffset += row.records;
      return at;
    });
};

const text = fc.oneof(fc.string(), fc.constantFrom('a', 'b"', 'c\\', 'd\n', 'ünïcödé-🔗'));
const value = fc.oneof(
  fc.tuple(text, text).map(([subject, data]) => event(subject, data)),
  fc.tuple(text, text).map(([a, b]) => JSON.stringify({ data: { subject: a }, subject: b })),
  text,
);
const someRecords: fc.Arbitrary<readonly PlacedRecord[]> = fc.array(
  fc.oneof(
    fc.record({
      partitionId: fc.constantFrom(1, 2),
      key: text,
      sequence: fc.constantFrom(null, null, null, 1),
      value,
    }),
    fc.constantFrom('a', 'b', 'c').map((key) => visit(key)),
  ),
);

describe('platform: rows of the embedded log', () => {
  it('are one for each partition of an append; a single record has its key', () => {
    const rows = rowsOf([visit('a'), visit('b', 2), visit('c'), visit('a')]);
    expect(rows.map(({ partitionId, records, key }) => [partitionId, records, key])).to.deep.equal([
      [1, 3, null],
      [2, 1, 'b'],
    ]);
  });

  it('are one for each event of the ledger, in order', () => {
    const rows = rowsOf([
      visit('a'),
      visit('a'),
      decided('a'),
      decided('a'),
      visit('a'),
      visit('a'),
    ]);
    expect(rows.map(({ records, key, sequence }) => [records, key, sequence])).to.deep.equal([
      [2, null, null],
      [1, 'a', 1],
      [1, 'a', 1],
      [2, null, null],
    ]);
  });

  it('are bounded in records and in bytes', () => {
    const many = rowsOf(Array.from({ length: 2_500 }, () => visit('a')));
    expect(many.map(({ records }) => records)).to.deep.equal([1_000, 1_000, 500]);
    const large = { ...visit('a'), value: event('a', 'ß'.repeat(100_000)) };
    const rows = rowsOf([large, large, large, large]);
    expect(rows.map(({ records }) => records)).to.deep.equal([2, 2]);
    for (const { value } of rows) expect(Buffer.byteLength(value)).to.be.at.most(lineLimits.bytes);
  });

  it('are one for lines, between other records', () => {
    const lines = [event('b'), event('ß')].join('\n');
    const bytes = Buffer.from(lines);
    const rows = rowsOf([
      visit('a'),
      visit('a'),
      { partitionId: 1, records: 2, lines: bytes },
      visit('c'),
    ]);
    expect(rows.map(({ records, key, value }) => [records, key, String(value)])).to.deep.equal([
      [2, null, [event('a'), event('a')].join('\n')],
      [2, null, lines],
      [1, 'c', event('c')],
    ]);
    const parts = [...linesIn({ partition: 0, records: 2, lines: bytes })];
    expect(parts.map(({ key, value }) => [String(key), String(value)])).to.deep.equal([
      ['b', event('b')],
      ['ß', event('ß')],
    ]);
  });

  it('return the appended records, from any offset on', () => {
    fc.assert(
      fc.property(someRecords, fc.nat(20), (records, from) => {
        for (const partitionId of [1, 2]) {
          const { records: found, damaged } = unpack(placed(records, partitionId), from, Infinity);
          expect(damaged).to.equal(null);
          const due = records.filter((record) => record.partitionId === partitionId);
          expect(found).to.deep.equal(
            due.map(({ key, value: line }, offset) => ({ offset, key, value: line })).slice(from),
          );
        }
      }),
    );
  });

  it('are unpacked lazily with the same result', () => {
    const alterations = fc.constantFrom('none', 'none', 'none', 'longer', 'gone');
    fc.assert(
      fc.property(
        fc.tuple(someRecords, fc.array(alterations), fc.nat(8), fc.nat(12)),
        fc.array(fc.tuple(fc.nat(12), fc.nat(12))),
        ([added, altered, from, length], slices) => {
          const to = from + length;
          const rows = placed(added, 1)
            .filter(({ firstOffset, records }) => firstOffset < to && firstOffset + records > from)
            .filter((_, index) => altered[index] !== 'gone')
            .map((row, index) =>
              altered[index] === 'longer' ? { ...row, records: row.records + 1 } : row,
            );
          const { records, damaged } = unpack(rows, from, to);
          const later = unpackLater(rows, from, to);
          expect(later.damaged?.message).to.equal(damaged?.message);
          expect(later.records.length).to.equal(records.length);
          expect(later.records.slice()).to.deep.equal(records);
          for (const [start, end] of slices) {
            expect(later.records.slice(start, end)).to.deep.equal(records.slice(start, end));
            expect(later.records.at(start)).to.deep.equal(records.at(start));
            expect(later.records.at(-1 - end)).to.deep.equal(records.at(-1 - end));
          }
        },
      ),
    );
  });

  it('are damaged if they have another number of lines than records, or overlap', () => {
    const [row] = placed([visit('a'), visit('b'), visit('c')], 1);
    if (!row) throw new Error('There is a row');
    const next = { ...row, firstOffset: 3 };
    for (const bad of [
      { ...next, records: 2 },
      { ...next, records: 4 },
      { ...next, firstOffset: 2 },
    ]) {
      const { records, damaged } = unpack([row, bad, { ...row, firstOffset: 6 }], 1, 9);
      expect(records.map(({ offset }) => offset)).to.deep.equal([1, 2]);
      expect(damaged).to.have.property('code', 'DAMAGED_RECORDS');
      expect(damaged?.message).to.include(`at offset ${bad.firstOffset} was altered`);
    }
  });
});
