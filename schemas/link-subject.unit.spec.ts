import { expect } from 'chai';
import fc from 'fast-check';
import {
  aliasPattern,
  compareSubjects,
  foldCode,
  linkCodeOf,
  linkOfSubject,
  maxCodeLength,
  shortUrlOf,
  subjectOf,
  subjectRangeOf,
} from './link-subject.js';
import { arbitraryCode, sampleCodes } from './testing/link-codes.js';
import { codePoint } from './testing/code-point.js';

describe('schemas: code of a link', () => {
  it('has letters, marks, digits, emoji, hyphens, underscores, dots and tildes', () => {
    for (const code of sampleCodes) expect(linkCodeOf(code), code).to.equal(code);
  });

  it('may be any alias', () => {
    fc.assert(
      fc.property(fc.stringMatching(aliasPattern), (alias) => {
        expect(linkCodeOf(alias)).to.equal(alias);
      }),
    );
  });

  it('is case-sensitive, and in NFC', () => {
    expect(linkCodeOf('ABC')).to.equal('ABC');
    expect(linkCodeOf('cafe\u0301')).to.equal('caf\u00e9');
    expect(linkCodeOf('I\u0307')).to.equal('\u0130');
    // 190 characters of four code points each when decomposed.
    expect(linkCodeOf('\u1f82'.repeat(190).normalize('NFD'))).to.equal('\u1f82'.repeat(190));
    fc.assert(
      fc.property(arbitraryCode, (code) => {
        expect(linkCodeOf(code.normalize('NFD'))).to.equal(code);
      }),
    );
  });

  it('is folded by simple lower-case mappings, in NFC', () => {
    const folded: Readonly<Record<string, string>> = {
      ...{ 'Spring_Sale-1': 'spring_sale-1', ÄÖÜ: 'äöü', ẞß: 'ßß', ΟΔΟΣ: 'οδοσ' },
      // A final sigma is lower case already, as is a long s.
      ...{ ς: 'ς', ſ: 'ſ', İSTANBUL: 'istanbul', 'I\u0307': 'i', ı: 'ı' },
      // The Kelvin and Ångström signs have the NFC K and Å.
      ...{ '\u212a\u212b': 'kå', ǅ: 'ǆ', 'Ⓜ': 'ⓜ', '🎉': '🎉', 東京: '東京' },
      // Deseret, Cherokee, Georgian Mtavruli.
      ...{ '\u{10400}': '\u{10428}', '\u13a0': '\uab70', '\u1c90': '\u10d0' },
      // Only the small letter composes.
      ...{ 'H\u0331': '\u1e96', Ț: 'ț' },
    };
    for (const [code, expected] of Object.entries(folded)) {
      expect(foldCode(code.normalize('NFC')), code).to.equal(expected);
    }
  });

  it('is folded to at most as many code points, in NFC, and again without a change', () => {
    const sigmas = fc.string({ unit: fc.constantFrom('Σ', 'σ', 'ς', 'İ', 'Α', '.', '\u0301') });
    const anyText = fc.oneof(
      arbitraryCode,
      sigmas,
      fc.string({ unit: 'grapheme', maxLength: 190 }),
    );
    fc.assert(
      fc.property(anyText, (text) => {
        const code = text.normalize('NFC');
        const folded = foldCode(code);
        expect(foldCode(folded)).to.equal(folded);
        const simple = Array.from(
          code,
          (character) => Array.from(character.toLowerCase())[0] ?? '',
        );
        expect(folded).to.equal(simple.join('').normalize('NFC'));
        expect(folded.normalize('NFC')).to.equal(folded);
        expect(Array.from(folded).length).to.be.at.most(Array.from(code).length);
      }),
    );
  });

  it('is a code after folding, except for one emoji and the routes of the edge', () => {
    const lost: string[] = [];
    for (let point = 0; point <= 0x10ffff; point += 1) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const character = String.fromCodePoint(point);
      // Only `İ` has a full mapping with several code points.
      const [simple] = Array.from(character.toLowerCase());
      if (foldCode(character) !== simple?.normalize('NFC')) lost.push(character);
      const code = linkCodeOf(character);
      if (code !== null && linkCodeOf(foldCode(code)) === null) lost.push(code);
    }
    expect(lost).to.deep.equal(['Ⓜ']);
    const insensitive = (domain: string | null): boolean => domain !== null;
    const requested = (code: string, domain: string | null = 'go.example') =>
      subjectOf({ domain, code }, insensitive);
    expect(requested('HEALTH', null)).to.equal('HEALTH');
    expect(requested('SALE')).to.equal('go.example/sale');
    expect(linkCodeOf(foldCode('HEALTH'))).to.equal(null);
    // The letter takes one more byte in lower case.
    expect(requested('Ⱥ'.repeat(maxCodeLength))).to.equal(
      `go.example/${'ⱥ'.repeat(maxCodeLength)}`,
    );
  });

  it('has 1 to 190 code points', () => {
    for (const character of ['x', 'é', '東', '🎉']) {
      expect(linkCodeOf(character.repeat(190))).to.equal(character.repeat(190));
      expect(linkCodeOf(character.repeat(191))).to.equal(null);
    }
    expect(linkCodeOf('')).to.equal(null);
  });

  const refused: readonly (readonly [what: string, texts: readonly string[]])[] = [
    ['dot segments and routes of the edge', ['.', '..', 'robots.txt', 'favicon.ico', 'health']],
    ['slashes and pluses', ['/', 'a/b', 'health/ready', '+', 'a+', 'a+b']],
    ['other punctuation and symbols', Array.from('!"#$%&\'()*,:;<=>?@[\\]^`{|}€→½²①Ⅷ')],
    ['percent-encoded texts', ['%', '%61', 'a%2Fb', 'caf%C3%A9']],
    [
      'white space and control characters',
      [' ', 'a b', 'a\tb', 'a\nb', 'a\0b', 'a\u00a0b', '\x7f'],
    ],
    ['invisible characters', ['\u200b', 'a\u200cb', 'a\u200db', 'a\u00adb', '\ufeff', 'a\u2060']],
    ['direction marks', ['a\u202eb', 'a\u200fb', 'a\u2066b\u2069', '\u061c']],
    [
      'joiners that join no emoji',
      ['\u200d', '🎉\u200d', '\u200d🎉', '1\u200d2', '🎉\u200d\u200d🎉'],
    ],
    ['tag characters outside of a flag', ['\u{e0067}', 'a\u{e0067}\u{e007f}', '🏴\u{e0067}']],
    ['unpaired surrogates', ['\ud83c', '\udf89', 'a\ud83cb', '\udf89\ud83c']],
    ['unassigned and private characters', ['\u0378', '\ue000', '\uffff', '\u{10ffff}']],
  ];
  for (const [what, texts] of refused) {
    it(`has no ${what}`, () => {
      for (const text of texts) expect(linkCodeOf(text), JSON.stringify(text)).to.equal(null);
    });
  }

  it('is in NFC, well-formed, and refused or accepted in linear time', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (text) => {
        const code = linkCodeOf(text);
        if (code === null) return;
        expect(code).to.equal(code.normalize('NFC'));
        expect(code.isWellFormed()).to.equal(true);
        expect(linkCodeOf(code)).to.equal(code);
      }),
    );
    // Exponential time would take years.
    for (const part of ['1', 'ℹ', '👩🏽‍🚀', '❤️‍🔥', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '#️⃣']) {
      expect(linkCodeOf(`${part.repeat(100)}!`), part).to.equal(null);
    }
  });
});

describe('schemas: subject of a link', () => {
  it('is the code on the default domain, and domain/code elsewhere', () => {
    expect(subjectOf({ domain: null, code: 'spring' })).to.equal('spring');
    expect(subjectOf({ domain: 'go.example', code: 'spring' })).to.equal('go.example/spring');
  });

  it('is split into the link that it was composed of', () => {
    const part = fc.string({ minLength: 1 }).filter((text) => !text.includes('/'));
    fc.assert(
      fc.property(fc.option(part), part, (domain, code) => {
        expect(linkOfSubject(subjectOf({ domain, code }))).to.deep.equal({ domain, code });
      }),
    );
  });

  it('is in the range of its domain only', () => {
    const inside = ['a.example/x', 'a.example/~'];
    const subjects = [...inside, 'a.example', 'a.example-b.test/x', 'xa.example/x'];
    const [after, before] = subjectRangeOf('a.example');
    expect(subjects.filter((subject) => subject > after && subject < before)).to.deep.equal(inside);
  });

  it('has a valid short URL in ASCII, with the scheme of the default domain', () => {
    const [host, localhost] = ['https://short.example', 'http://localhost:8081'];
    for (const [subject, origin, url] of [
      ['abc', localhost, 'http://localhost:8081/abc'],
      ['go.example/abc', localhost, 'http://go.example/abc'],
      ['go.example/abc', host, 'https://go.example/abc'],
      ['a.b', host, `${host}/a.b`],
      ['a~b_-', host, `${host}/a~b_-`],
      ['...', host, `${host}/...`],
      ['café', host, `${host}/caf%C3%A9`],
      ['go.example/#️⃣', host, 'https://go.example/%23%EF%B8%8F%E2%83%A3'],
    ] as const) {
      expect(shortUrlOf(subject, origin)).to.equal(url);
    }
    fc.assert(
      fc.property(arbitraryCode, (code) => {
        const url = shortUrlOf(code, host);
        expect(new URL(url).href).to.equal(url);
        expect(decodeURIComponent(url)).to.equal(`${host}/${code}`);
      }),
    );
  });

  it('is in the order of its bytes', () => {
    // UTF-16 sorts U+FA30 after the emoji.
    expect(compareSubjects('\ufa30', '🎉')).to.be.below(0);
    const sign = (order: number): number => Math.sign(order);
    fc.assert(
      fc.property(arbitraryCode, arbitraryCode, (a, b) => {
        const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
        expect(sign(compareSubjects(a, b))).to.equal(bytes);
        expect(compareSubjects(a, a)).to.equal(0);
        expect(sign(compareSubjects(a, `${a}${b}`))).to.equal(-1);
      }),
    );
  });
});
