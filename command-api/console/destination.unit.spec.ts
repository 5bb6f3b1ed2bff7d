import { expect } from 'chai';
import { bookmarkletOf, withScheme, withUtm } from './destination.js';

describe('the destination of a new link', () => {
  for (const [typed, url] of [
    [' example.com/x ', 'https://example.com/x'],
    ['example.com', 'https://example.com'],
    ['example.com:8080?a=1', 'https://example.com:8080?a=1'],
    ['//example.com/', 'https://example.com/'],
    ['localhost:3000/a', 'https://localhost:3000/a'],
    ['faß.de#top', 'https://faß.de#top'],
    ['http://example.com', 'http://example.com'],
    ['mailto:a@example.com', 'mailto:a@example.com'],
    ['user@example.com', 'user@example.com'],
    ['javascript:alert(1)', 'javascript:alert(1)'],
    ['two words', 'two words'],
    ['', ''],
  ] as const) {
    it(`is ${JSON.stringify(url)} for ${JSON.stringify(typed)}`, () => {
      expect(withScheme(typed)).to.equal(url);
    });
  }

  it('gets campaign parameters before its fragment, in place of its own', () => {
    const values = { source: 'news letter', medium: ' ', campaign: 'a&b' };
    expect(withUtm('https://example.com/?a=%20&utm_source=old&b#c?d', values)).to.equal(
      'https://example.com/?a=%20&b&utm_source=news%20letter&utm_campaign=a%26b#c?d',
    );
    expect(withUtm('https://example.com', { term: 'x' })).to.equal(
      'https://example.com?utm_term=x',
    );
    expect(withUtm('https://example.com/?a=%20&b#c', {})).to.equal(
      'https://example.com/?a=%20&b#c',
    );
  });

  it('is the current page in the bookmarklet', () => {
    expect(bookmarkletOf('https://console.example')).to.equal(
      "javascript:void open('https://console.example/console/new?" +
        "url='+encodeURIComponent(location.href)+'&title='+encodeURIComponent(document.title))",
    );
  });
});
