import { expect } from 'chai';
import fc from 'fast-check';
import { shortCodePattern } from './link-subject.js';
import { codeOfShortUrl, pastedCode } from './pasted-code.js';

describe('schemas: pasted short codes and URLs', () => {
  it('finds the code in a short URL, with or without a scheme, query and fragment', () => {
    for (const text of [
      'spring-sale',
      ' spring-sale\n',
      'https://sho.rt/spring-sale',
      'HTTP://SHO.RT/spring-sale',
      'sho.rt/spring-sale',
      'localhost:8081/spring-sale',
      '\u200bhttps://sho.rt/spring-sale/ ',
      'https://sho.rt/spring-sale+',
      'https://sho.rt/spring-sale?qr',
      'https://sho.rt/spring-sale/?a=b#c',
    ]) {
      expect(pastedCode(text), text).to.equal('spring-sale');
    }
  });

  it('trims other texts', () => {
    for (const text of ['', 'https://example.com/a/b', 'https://sho.rt/', 'two words', 'a@b/c']) {
      expect(pastedCode(` ${text} `)).to.equal(text);
    }
  });

  it('is the identity on short codes', () => {
    fc.assert(
      fc.property(fc.stringMatching(shortCodePattern), (code) => {
        expect(pastedCode(code)).to.equal(code);
        expect(pastedCode(`https://sho.rt/${code}+`)).to.equal(code);
      }),
    );
  });

  it('distinguishes short URLs of this installation from destinations', () => {
    const host = 'https://Sho.rt';
    expect(codeOfShortUrl('http://sho.rt/spring', host)).to.equal('spring');
    expect(codeOfShortUrl('sho.rt/spring+', host)).to.equal('spring');
    for (const text of ['spring', 'https://example.com/spring', 'sho.rt:81/spring']) {
      expect(codeOfShortUrl(text, host), text).to.equal(null);
    }
  });
});
