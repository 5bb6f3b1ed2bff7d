import { webDestinations } from './http/link-fields.js';
import { validateHeaderValue } from 'node:http';
import { expect } from 'chai';
import fc from 'fast-check';
import { shortenRequest } from './http/shorten.js';
import { parseDestination } from './parse-url.js';
import { locationOf } from './location.js';

const schema = shortenRequest(webDestinations);

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

  it('is a valid header value and equivalent to the destination, for all accepted URLs', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }),
      fc.constantFrom('/', '?', '#', '%', '%41', '\\', '..', ' ', '@', ':', ':81', '.', '\u00ad'),
    );
    const host = fc.constantFrom(
      ...['example.com', 'exämple.com', '例え。jp', 'ＥＸ.com', 'faß.de', '[::1]'],
      'ex%C3%A4mple.com',
    );
    const urls = fc
      .tuple(fc.constantFrom('https://', 'HTTP://'), host, fc.array(piece, { maxLength: 8 }))
      .map(([scheme, name, rest]) => scheme + name + rest.join(''));
    let accepted = 0;
    fc.assert(
      fc.property(urls, (text) => {
        const { data } = schema.safeParse({ url: text });
        if (!data) return;
        accepted += 1;
        const location = locationOf(data.url);
        validateHeaderValue('Location', location);
        expect(location).to.match(/^[\x21-\x7e]+$/);
        expect(new URL(location).href).to.equal(parseDestination(data.url).href);
        if (/^[\x21-\x7e]+$/.test(data.url)) expect(location).to.equal(data.url);
      }),
      { numRuns: 200 },
    );
    expect(accepted).to.be.greaterThan(25);
  });
});
