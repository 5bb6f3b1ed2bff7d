import { expect } from 'chai';
import fc from 'fast-check';
import { foldedTextOf, foldText } from './folded-text.js';

const link = {
  subject: 'Abc',
  url: 'https://Example.com/A',
  title: null,
  note: null,
  tags: null,
  codes: null,
  options: null,
};

describe('schemas: folded texts', () => {
  it('are in NFC, after default case folding', () => {
    for (const [text, folded] of [
      ['', ''],
      ['AbC 1!', 'abc 1!'],
      ['Straße STRASSE ẞ', 'strasse strasse ss'],
      ['MU\u0308LLER', 'müller'],
      ['\u212Bngström', 'ångström'],
      ['İ I ı i', 'i\u0307 i ı i'],
      ['ΟΔΥΣΣΕΥΣ ς Σ', 'οδυσσευσ σ σ'],
      ['ſ K µ ﬃ ŉ ǰ', 's k μ ffi ʼn ǰ'],
      ['ᾳ ΐ ﬗ', 'αι ΐ մխ'],
      ['Привет 東京 🏕️', 'привет 東京 🏕️'],
      // Accents stay distinct.
      ['é e\u0301 e', 'é é e'],
    ] as const) {
      expect(foldText(text), text).to.equal(folded);
    }
    // Cherokee small letters are newer than capital ones, and fold together with them.
    expect(foldText('Ꭰ')).to.equal(foldText('ꭰ'));
  });

  it('are equal for texts that differ only in case, also as parts of other texts', () => {
    const texts = fc.string({ unit: fc.constantFrom(...Array.from('aAäÄßẞſsıiİIςσΣжЖ\u0301ﬀ %')) });
    fc.assert(
      fc.property(texts, texts, texts, (before, text, after) => {
        const folded = foldText(text);
        expect(foldText(folded)).to.equal(folded);
        expect(foldText(text.normalize('NFD'))).to.equal(folded);
        const whole = foldText(`${before}-${text}-${after}`);
        expect(whole).to.contain(`-${folded}-`);
      }),
    );
  });

  it('of a link are its code, destination, title, note and tags', () => {
    expect(foldedTextOf(link)).to.equal('abc\nhttps://example.com/a');
    const texts = { title: 'A Title', note: 'Two\nLines', tags: ['X', 'Ä'] };
    expect(foldedTextOf({ ...link, ...texts })).to.equal(
      'abc\nhttps://example.com/a\na title\ntwo\nlines\nx\nä',
    );
    expect(foldedTextOf({ ...link, codes: ['ABD', 'go.example/ABE'] })).to.equal(
      'abc\nabd\nabe\nhttps://example.com/a',
    );
  });

  it('contain the parsed host of the destination', () => {
    for (const [url, host] of [
      ['http://bücher.example/', 'xn--bcher-kva.example'],
      ['http://0x7f.1/a', '127.0.0.1'],
      ['http://[2001:DB8::0:1]/', '[2001:db8::1]'],
    ] as const) {
      expect(foldedTextOf({ ...link, url })).to.match(/^abc\nhttp:\/\//);
      expect(foldedTextOf({ ...link, url }).split('\n')[2]).to.equal(`://${host}`);
    }
  });
});
