import { expect } from 'chai';
import { locationOf } from './location.js';

describe('schemas: Location', () => {
  const unchanged = [
    'https://example.com',
    'HTTP://Example.COM:80/A/../b?q=a+b&c=%7E%zz#f#g',
    'https://example.com/a|b^c`d{e}"f<g>',
    'https://example.com\\@example.net/',
    'https://xn--exmple-cua.com/%C3%A4',
    'http://[2001:DB8::1]:8080/',
    'http://0x7f.1/',
  ];
  for (const url of unchanged) {
    it(`is the stored URL: ${url}`, () => {
      expect(locationOf(url)).to.equal(url);
    });
  }

  const encoded: readonly (readonly [string, string])[] = [
    ['https://example.com/a b', 'https://example.com/a%20b'],
    ['https://example.com/ä?ö=ü#ß', 'https://example.com/%C3%A4?%C3%B6=%C3%BC#%C3%9F'],
    ['https://example.com/%C3%A4/ä', 'https://example.com/%C3%A4/%C3%A4'],
    ['https://example.com/😀', 'https://example.com/%F0%9F%98%80'],
    ['https://EXÄMPLE.com/A', 'https://xn--exmple-cua.com/A'],
    ['https://例え.jp:8443?q=例', 'https://xn--r8jz45g.jp:8443?q=%E4%BE%8B'],
    ['https://例え.jp', 'https://xn--r8jz45g.jp'],
    ['https://example。com/a', 'https://example.com/a'],
    ['http://straße.de\\a', 'http://xn--strae-oqa.de\\a'],
    ['https://STRA\u1e9eE.de/a', 'https://xn--strae-oqa.de/a'],
  ];
  for (const [url, location] of encoded) {
    it(`encodes ${url} as ${location}`, () => {
      expect(locationOf(url)).to.equal(location);
    });
  }
});
