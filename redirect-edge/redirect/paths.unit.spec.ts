import { expect } from 'chai';
import fc from 'fast-check';
import { arbitraryCode, sampleCodes } from '../../schemas/testing/link-codes.js';
import { forwardedPath, linkNameIn, routeOf } from './paths.js';

describe('redirect edge: link of a path', () => {
  // Each path with its candidates: an exact code is looked up before the one without trailing characters.
  for (const example of [
    ...['/spring spring', '/spr%69ng spring', '/a a', '/a.b a.b', '/.a .a', '/ab_ ab_ ab'],
    ...['/spring_ spring_ spring', '/spring__ spring__ spring', '/spring- spring-'],
    ...['/spring. spring. spring', '/spring/ spring', '/spring/// spring', '/spring). spring'],
    ...['/spring.) spring. spring', '/spring%20 spring', '/spring%C2%A0%0A spring'],
    ...['/spring%E2%80%8B spring', '/spring_. spring_. spring_ spring', '/spring*_* spring'],
    ...['/spring*_~ spring', '/a.b. a.b. a.b', '/robots.txt. robots.txt.', '/caf%C3%A9 café'],
    ...['/caf%C3%A9%E2%80%9D. café', `/spring${'.'.repeat(10_000)} spring`],
    ...['/spring+ spring', '/spring%2B spring', '/spring_+ spring_ spring', '/spring+. spring'],
    ...['/spring.+ spring. spring', '/1+ 1', '/spring_+. spring_ spring', '/cafe%CC%81+ café'],
  ]) {
    const [path = '', ...codes] = example.split(' ');
    const previewed = /\+|%2B/.test(path);
    const link = `${previewed ? 'the preview of ' : ''}${codes.join(', then ')}`;
    it(`is ${link} of ${JSON.stringify(path.slice(0, 40))}`, () => {
      expect(linkNameIn(path)).to.deep.include({ codes, previewed });
      expect(routeOf(path)).to.equal(previewed ? '/:shortCode+' : '/:shortCode');
    });
  }

  it('excludes characters that are pasted after a code', () => {
    const pasted =
      '/.,;:!?)]}>\'"”’»*_~ \t\n\u00a0\u3000\u00ad\u200b\u200c\u200d\u200e\u200f' +
      '\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff';
    for (const character of pasted) {
      const { codes } = linkNameIn(`/spring${encodeURIComponent(character)}`) ?? { codes: [] };
      expect(codes.at(-1), JSON.stringify(character)).to.equal('spring');
    }
  });

  it('is each code of an imported link, percent-encoded', () => {
    const check = (code: string, form: 'NFC' | 'NFD'): void => {
      const path = `/${encodeURIComponent(code.normalize(form))}`;
      expect(linkNameIn(path)?.codes[0], code).to.equal(code);
      expect(linkNameIn(`${path}+)`)?.codes[0], code).to.equal(code);
      expect(linkNameIn(`${path}+`), code).to.deep.include({ previewed: true });
    };
    for (const code of sampleCodes) check(code, 'NFC');
    fc.assert(
      fc.property(arbitraryCode, (code) => {
        check(code, 'NFD');
      }),
    );
  });

  it('has at most three candidates', () => {
    fc.assert(
      fc.property(fc.webPath(), fc.stringMatching(/^[._~)*+]{0,9}$/), (path, end) => {
        expect(linkNameIn(`/${path}${end}`)?.codes ?? []).to.have.length.within(0, 3);
      }),
    );
  });

  for (const path of [
    ...['/', '/.', '/..', '/spring%', '/spring%ff', '/spring#', '/+', '/.+', '/robots.txt+'],
    ...['/spring&', '/spring-+-', `/${'a'.repeat(191)}`, '/a&b/usage', '/spring%00'],
    ...['/%2e%2e', '/%72obots.txt', '/a%2Fb', '/a%252Eb', '/%ED%A0%80', '/a%E2%80%AEb'],
  ]) {
    it(`does not exist in ${JSON.stringify(path)}`, () => {
      expect(linkNameIn(path)).to.be.null;
    });
  }

  it('is not one of the fixed paths', () => {
    for (const path of ['/', '/robots.txt', '/favicon.ico', '/health', '/health/ready'])
      expect(routeOf(path)).to.equal(path);
    expect(routeOf('/a&b/usage')).to.equal('other');
    expect(routeOf('/spring/usage')).to.equal('/:shortCode');
  });
});

describe('redirect edge: path behind a code', () => {
  for (const [path, rest] of [
    ['/spring', null],
    ['/spring/', null],
    ['/spring+/', null],
    ['/spring/)', { path: ')', isPasted: true }],
    ['/spring//', { path: '/', isPasted: true }],
    ['/spring/a/b/', { path: 'a/b/', isPasted: false }],
    ['/caf%C3%A9/%E4', { path: '%E4', isPasted: false }],
    ['/spring/a+', { path: 'a+', isPasted: false }],
  ] as const) {
    it(`is ${JSON.stringify(rest)} of ${path}`, () => {
      expect(linkNameIn(path)?.rest).to.deep.equal(rest);
    });
  }

  it('is no link if the first segment is no code', () => {
    for (const path of ['/a b/c', '/%zz/c', '//c', '/health/x', '/spring+/c']) {
      expect(linkNameIn(path), path).to.equal(null);
    }
  });

  it('is forwarded in ASCII', () => {
    for (const [path, forwarded] of [
      ['a', 'a'],
      ['a/b/', 'a/b/'],
      ['a..b/...', 'a..b/...'],
      ['a;b/...;c', 'a;b/...;c'],
      ['%0D%0A<b>', '%0D%0A<b>'],
      ['\u00e4 \u0000', '%E4%20%00'],
    ] as const) {
      expect(forwardedPath(path)).to.equal(forwarded);
    }
  });

  it('is not forwarded if it could leave the folder of the destination, or is ambiguous', () => {
    const dots = ['.', '..', '%2e', '%2E%2e', '.%2e', '..;', '.;a=b', '..%3Bx'];
    for (const path of [
      ...dots.flatMap((dot) => [dot, `${dot}/a`, `a/${dot}`, `a/${dot}/b`, `a/${dot}/`]),
      ...['/', '//', '/a', 'a//b', 'a//', 'a%2Fb', 'a%2fb', 'a%5Cb', 'a\\b'],
    ]) {
      expect(forwardedPath(path), path).to.equal(null);
    }
  });

  it('is read in linear time', () => {
    for (const part of ['./', '%2e', 'a/', '/', '..']) {
      expect(forwardedPath(`a/${part.repeat(20_000)}\\`), part).to.equal(null);
    }
  });
});
