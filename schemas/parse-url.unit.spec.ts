import { expect } from 'chai';
import { parseUrl } from './parse-url.js';

describe('schemas: parse URL', () => {
  it('knows a URL with letters of Latin-1, however often it is asked', () => {
    for (let times = 0; times < 20_000; times += 1) {
      if (parseUrl('http://\u00fc.example/')?.host !== 'xn--tda.example') expect.fail(`${times}`);
    }
  });

  it('knows what is none', () => {
    for (const text of ['', 'example.com', 'http://', '//example.com/']) {
      expect(parseUrl(text), text).to.equal(null);
    }
  });
});
