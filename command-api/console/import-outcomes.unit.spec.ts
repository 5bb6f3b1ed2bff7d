import { expect } from 'chai';
import type { ImportedRow } from '../../schemas/http/imports.js';
import { addRow, countFailed, emptySummary, isSufficient } from './import-outcomes.js';

const row = (number: number, fields: Partial<ImportedRow> = {}): ImportedRow => ({
  ...{ row: number, code: `c${number}`, url: 'https://example.com/', outcome: 'created' },
  message: null,
  ...fields,
});

const rows = (count: number, fields: Partial<ImportedRow> = {}): readonly ImportedRow[] =>
  Array.from({ length: count }, (_, index) => row(index + 1, fields));

describe('outcomes of an import', () => {
  it('are summarised by the first rows that failed or have a message', () => {
    const message = 'The title was cut.';
    const summary = [
      row(1),
      row(2, { message }),
      row(3, { outcome: 'conflict', message }),
      ...rows(150, { outcome: 'invalid', message }),
    ].reduce(addRow, emptySummary);
    expect(summary.rows).to.have.length(100);
    expect(summary.rows.slice(0, 2).map((shown) => shown.row)).to.deep.equal([2, 3]);
    expect([...summary.failed]).to.deep.equal([
      ['conflict', 1],
      ['invalid', 150],
    ]);
    expect([countFailed(summary), summary.scanned]).to.deep.equal([151, 153]);
  });

  it('are read to the end, or until the failed rows of a long import are found', () => {
    expect(isSufficient(rows(19_999).reduce(addRow, emptySummary), 0)).to.equal(false);
    const long = rows(20_000).reduce(addRow, emptySummary);
    expect(isSufficient(long, 0)).to.equal(true);
    expect(isSufficient(long, 1)).to.equal(false);
    const failed = addRow(long, row(20_001, { outcome: 'quota', message: 'x' }));
    expect(isSufficient(failed, 1)).to.equal(true);
    const full = rows(100, { outcome: 'quota', message: 'x' }).reduce(addRow, long);
    expect(isSufficient(full, 5_000)).to.equal(true);
  });
});
