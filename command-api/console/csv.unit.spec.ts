import { expect } from 'chai';
import { toCsv } from './csv.js';

describe('a table for spreadsheets', () => {
  it('starts with a byte order mark', () => {
    expect(toCsv([['destination'], ['=1+1']])).to.equal(`\ufeffdestination\r\n'=1+1\r\n`);
  });
});
