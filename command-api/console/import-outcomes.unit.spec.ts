import { expect } from 'chai';
import type { ImportedRow } from '../../schemas/http/imports.js';
import {
  addRows,
  countFailed,
  emptySummary,
  isSufficient,
  OutcomeParser,
} from './import-outcomes.js';

const row = (number: number, fields: Partial<ImportedRow> = {}): ImportedRow => ({
  ...{ row: number, code: `c${number}`, url: 'https://example.com/', outcome: 'created' },
  message: null,
  ...fields,
});

const rows = (count: number, fields: Partial<ImportedRow> = {}): readonly ImportedRow[] =>
  Array.from({ length: count }, (_, index) => row(index + 1, fields));

describe('outcomes of an import', () => {
  it('are parsed from chunks that end anywhere', () => {
    const expected = [row(1), row(2, { outcome: 'invalid', message: 'é "\n"' })];
    const text = expected.map((line) => `${JSON.stringify(line)}\n`).join('');
    for (let cut = 0; cut <= text.length; cut += 1) {
      const parser = new OutcomeParser();
      const parsed = [...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))];
      expect(parsed).to.deep.equal(expected);
    }
  });

  it('are summarised by the first rows that failed or have a message', () => {
    const message = 'The title was cut.';
    const summary = addRows(addRows(emptySummary, [row(1), row(2, { message })]), [
      row(3, { outcome: 'conflict', message }),
      ...rows(150, { outcome: 'invalid', message }),
    ]);
    expect(summary.rows).to.have.length(100);
    expect(summary.rows.slice(0, 2).map((shown) => shown.row)).to.deep.equal([2, 3]);
    expect([...summary.failed]).to.deep.equal([
      ['conflict', 1],
      ['invalid', 150],
    ]);
    expect([countFailed(summary), summary.scanned]).to.deep.equal([151, 153]);
  });

  it('are read to the end, or until the failed rows of a long import are found', () => {
    expect(isSufficient(addRows(emptySummary, rows(19_999)), 0)).to.equal(false);
    const long = addRows(emptySummary, rows(20_000));
    expect(isSufficient(long, 0)).to.equal(true);
    expect(isSufficient(long, 1)).to.equal(false);
    const failed = addRows(long, [row(20_001, { outcome: 'quota', message: 'x' })]);
    expect(isSufficient(failed, 1)).to.equal(true);
    const full = addRows(long, rows(100, { outcome: 'quota', message: 'x' }));
    expect(isSufficient(full, 5_000)).to.equal(true);
  });
});
