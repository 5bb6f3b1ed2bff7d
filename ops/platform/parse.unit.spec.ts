import { expect } from 'chai';
import { parseList } from './parse.js';

describe('platform: list file', () => {
  it('returns one entry for each line, with its number', () => {
    expect(parseList('a\n\n  b c\t\r\nd')).to.deep.equal([
      { text: 'a', line: 1 },
      { text: 'b c', line: 3 },
      { text: 'd', line: 4 },
    ]);
  });

  it('ignores comments after a # at the start of a line or after white space', () => {
    const texts = parseList('# title\na # why\n \t#b\nc#d').map(({ text }) => text);
    expect(texts).to.deep.equal(['a', 'c#d']);
  });

  it('accepts a byte order mark and an empty list', () => {
    expect(parseList('\ufeffa')).to.deep.equal([{ text: 'a', line: 1 }]);
    expect(parseList('')).to.deep.equal([]);
  });
});
