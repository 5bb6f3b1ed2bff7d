import { expect } from 'chai';
import fc from 'fast-check';
import { toCsv } from './csv.js';

/** Parses CSV (RFC 4180) with quoted cells. */
const parse = (text: string): string[][] => {
  const rows: string[][] = [];
  let at = 1;
  while (at < text.length) {
    const row: string[] = [];
    do {
      let cell = '';
      at += text[at] === ',' ? 2 : 1;
      while (text[at] !== '"' || text[at + 1] === '"') {
        cell += text[at] ?? '';
        at += text[at] === '"' ? 2 : 1;
      }
      at += 1;
      row.push(cell);
    } while (text[at] === ',');
    rows.push(row);
    at += 2;
  }
  return rows;
};

const tables = fc.array(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }));

describe('a table for spreadsheets', () => {
  it('preserves every text, except for an apostrophe before formulas', () => {
    fc.assert(
      fc.property(tables, (rows) => {
        const read = parse(toCsv(rows));
        const plain = read.map((row, y) =>
          row.map((cell, x) => (cell === rows[y]?.[x] ? cell : cell.replace(/^'/, ''))),
        );
        expect(plain).to.deep.equal(rows);
      }),
    );
  });

  it('has no formulas', () => {
    for (const start of ['=', '+', '-', '@', '\t', '\r', '\n']) {
      expect(toCsv([[`${start}1+1`]])).to.equal(`\ufeff"'${start}1+1"\r\n`);
    }
  });
});
