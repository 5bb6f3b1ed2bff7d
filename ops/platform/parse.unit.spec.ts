import { expect } from 'chai';
import { parseList } from './parse.js';

describe('platform: list file', () => {
  it('returns one entry for each line', () => {
    expect(parseList('a\n\n  b c\t\r\nd\re')).to.deep.equal(['a', 'b c', 'd', 'e']);
  });

  it('ignores comments after a # at the start of a line or after white space', () => {
    expect(parseList('# title\na # why\n \t#b\nc#d')).to.deep.equal(['a', 'c#d']);
  });

  it('accepts a byte order mark and an empty list', () => {
    expect(parseList('\ufeffa')).to.deep.equal(['a']);
    expect(parseList('\ufeff# title')).to.deep.equal([]);
    expect(parseList('')).to.deep.equal([]);
  });
});
