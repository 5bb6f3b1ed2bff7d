import { expect } from 'chai';
import { delimiterOf, toCsv } from './csv.js';

describe('a table for spreadsheets', () => {
  it('starts with a byte order mark', () => {
    expect(toCsv([['destination'], ['=1+1']])).to.equal(`\ufeffdestination\r\n'=1+1\r\n`);
  });

  it('quotes its delimiter', () => {
    expect(toCsv([['a;b', 'c,d']], ';')).to.equal('\ufeff"a;b";c,d\r\n');
    expect(toCsv([['a;b', 'c,d']], ',')).to.equal('\ufeffa;b,"c,d"\r\n');
  });

  for (const [tag, delimiter] of [
    ['en', ','],
    ['en-GB', ','],
    ['ja', ','],
    ['de-CH', ','],
    ['de', ';'],
    ['de-AT', ';'],
    ['fr', ';'],
    ['pt-BR', ';'],
  ] as const) {
    it(`is delimited by ${delimiter} in ${tag}`, () => {
      expect(delimiterOf(tag)).to.equal(delimiter);
    });
  }
});
