import { expect } from 'chai';
import fc from 'fast-check';
import { arbitraryCode } from './testing/link-codes.js';
import { codeOfShortUrl, pastedLink } from './pasted-code.js';

const pastedCode = async (text: string): Promise<string> => {
  const isActive = () => Promise.resolve(false);
  return (await pastedLink(text, { shortUrlHost: null, isActive })).code;
};

describe('schemas: pasted short codes and URLs', () => {
  it('finds the code in a short URL, with or without a scheme, query and fragment', async () => {
    for (const text of [
      ...['spring-sale', ' spring-sale\n', 'https://sho.rt/spring-sale', 'sho.rt/spring-sale'],
      ...['HTTP://SHO.RT/spring-sale', 'localhost:8081/spring-sale', 'https://sho.rt/spring-sale+'],
      ...['\u200bhttps://sho.rt/spring-sale/ ', 'https://sho.rt/spring-sale?qr'],
      'https://sho.rt/spring-sale/?a=b#c',
    ]) {
      expect(await pastedCode(text), text).to.equal('spring-sale');
    }
  });

  it('trims other texts', async () => {
    for (const text of ['', 'https://example.com/a/b', 'https://sho.rt/', 'two words', 'a@b/c']) {
      expect(await pastedCode(` ${text} `)).to.equal(text);
    }
  });

  it('is the identity on short codes, percent-encoded or not', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryCode, async (code) => {
        expect(await pastedCode(code)).to.equal(code);
        expect(await pastedCode(encodeURIComponent(code))).to.equal(code);
        expect(await pastedCode(`https://sho.rt/${encodeURIComponent(code)}+`)).to.equal(code);
      }),
    );
  });

  it('decodes and normalises the code of a short URL', async () => {
    for (const text of [
      ...['café', 'cafe\u0301', 'caf%C3%A9', 'cafe%CC%81', 'sho.rt/café', 'sho.rt/caf%c3%a9'],
      ...['https://sho.rt/café', 'https://sho.rt/caf%C3%A9?qr', 'https://sho.rt/cafe%CC%81+'],
    ]) {
      expect(await pastedCode(text), text).to.equal('café');
    }
    for (const text of ['caf%C3', '100%25', 'a%20b', 'a%2Fb']) {
      expect(await pastedCode(text)).to.equal(text);
    }
  });

  it('distinguishes short URLs of this installation from destinations', () => {
    const host = 'https://Sho.rt';
    expect(codeOfShortUrl('http://sho.rt/spring', host)).to.equal('spring');
    expect(codeOfShortUrl('sho.rt/spring+', host)).to.equal('spring');
    for (const text of ['spring', 'https://example.com/spring', 'sho.rt:81/spring']) {
      expect(codeOfShortUrl(text, host), text).to.equal(null);
    }
  });

  describe('the link that a text names', () => {
    const linkIn = (text: string) =>
      pastedLink(text, {
        shortUrlHost: 'https://sho.rt',
        isActive: (name) => Promise.resolve(['go.example', 'xn--bcher-kva.example'].includes(name)),
      });

    const cases: readonly (readonly [domain: string | null, ...texts: string[]])[] = [
      [
        'go.example',
        ...['go.example/spring', 'GO.Example./spring', 'https://go.example/spring'],
        ...['http://GO.EXAMPLE.:8081/spring+', 'go.example:8081/spring'],
      ],
      ['xn--bcher-kva.example', 'bücher.example/spring', 'https://bücher.example/spring?qr'],
      // A URL on a released domain leads to the default domain.
      ['released.example', 'released.example/spring'],
      [
        null,
        ...['spring', 'https://sho.rt/spring', 'sho.rt/spring', 'https://released.example/spring'],
        ...['released.example:80/spring', 'localhost:8081/spring', 'https://192.0.2.1/spring'],
        ...['http://[::1]:8081/spring', '../spring'],
      ],
    ];
    for (const [domain, ...texts] of cases) {
      it(`is on ${domain ?? 'the default domain'} for ${texts.join(', ')}`, async () => {
        for (const text of texts) {
          expect(await linkIn(text), text).to.deep.equal({ domain, code: 'spring' });
        }
      });
    }

    it('is on the default domain if the text is neither a link nor a short URL', async () => {
      for (const code of ['', 'https://go.example/a/b', 'two words']) {
        expect(await linkIn(code)).to.deep.equal({ domain: null, code });
      }
    });
  });
});
