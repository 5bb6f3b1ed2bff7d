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

  it('is delimited by semicolons in languages with a decimal comma', () => {
    expect(['en', 'en-GB', 'ja', 'de-CH'].map(delimiterOf)).to.deep.equal([',', ',', ',', ',']);
    expect(['de', 'de-AT', 'fr', 'pt-BR'].map(delimiterOf)).to.deep.equal([';', ';', ';', ';']);
  });
});
