import { expect } from 'chai';
import fc from 'fast-check';
import { csvRow } from './csv.js';
import { parseCsv, withoutGuard } from './testing/csv.js';
import { codePoint } from './testing/code-point.js';

const cell = fc.oneof(
  fc.string({ unit: codePoint }),
  fc
    .array(fc.constantFrom('=', '+', '-', '@', "'", '\t', '\r', '\n', '"', ',', 'a', '\u{1f600}'))
    .map((characters) => characters.join('')),
);
const tables = fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }));

describe('CSV', () => {
  it('preserves every value without the guard, and has no cell that a spreadsheet evaluates', () => {
    fc.assert(
      fc.property(tables, (rows) => {
        const parsed = parseCsv(rows.map((row) => csvRow(row)).join(''));
        expect(parsed.map((row) => row.map(withoutGuard))).to.deep.equal(rows);
        for (const text of parsed.flat()) expect(text).to.not.match(/^[=+\-@\t\r]/);
      }),
      { numRuns: 60 },
    );
  });

  it('prefixes values that start with = + - @ an apostrophe, tab or CR', () => {
    expect(csvRow(['=1+1', '+1', '-1', '@a', "'a", '\ta', '\ra', 'a=1', '\na'])).to.equal(
      `'=1+1,'+1,'-1,'@a,''a,'\ta,"'\ra",a=1,"\na"\r\n`,
    );
  });

  it('quotes only cells with a comma, a quotation mark or a line end', () => {
    expect(csvRow(['', 'a b', 'a,b', 'a"b', 'a\nb'])).to.equal(',a b,"a,b","a""b","a\nb"\r\n');
  });
});
