import { expect } from 'chai';
import { parseList } from './list-file.js';

describe('platform: list file', () => {
  it('has one entry a line, with its number', () => {
    expect(parseList('a\n\n  b c\t\r\nd')).to.deep.equal([
      { text: 'a', line: 1 },
      { text: 'b c', line: 3 },
      { text: 'd', line: 4 },
    ]);
  });

  it('has comments after a # that begins a line or follows white space', () => {
    const texts = parseList('# title\na # why\n \t#b\nc#d').map(({ text }) => text);
    expect(texts).to.deep.equal(['a', 'c#d']);
  });

  it('may begin with a byte order mark, and may be empty', () => {
    expect(parseList('\ufeffa')).to.deep.equal([{ text: 'a', line: 1 }]);
    expect(parseList('')).to.deep.equal([]);
  });
});
