import { expect } from 'chai';
import { toCsv } from './csv.js';

describe('a table for spreadsheets', () => {
  it('starts with a byte order mark', () => {
    expect(toCsv([['destination'], ['=1+1']])).to.equal(`\ufeffdestination\r\n'=1+1\r\n`);
  });

  it('has the separator of its locale, and quotes cells with it', () => {
    expect(toCsv([['a;b', 'c,d']], ';')).to.equal('\ufeff"a;b";c,d\r\n');
    expect(toCsv([['a;b', 'c,d']], ',')).to.equal('\ufeffa;b,"c,d"\r\n');
  });
});
