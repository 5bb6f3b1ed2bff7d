import { expect } from 'chai';
import { linkNameIn, routeOf } from './paths.js';

describe('redirect edge: link of a path', () => {
  const named: readonly [path: string, codes: readonly string[], previewed?: boolean][] = [
    ['/spring', ['spring']],
    ['/spr%69ng', ['spring']],
    ['/spring+', ['spring'], true],
    ['/spring%2B', ['spring'], true],
    // An exact code is looked up before the one without trailing characters.
    ['/spring_', ['spring_', 'spring']],
    ['/spring__', ['spring__', 'spring']],
    ['/spring_+', ['spring_', 'spring'], true],
    ['/ab_', ['ab_']],
    ['/spring-', ['spring-']],
    ['/spring.', ['spring']],
    ['/spring/', ['spring']],
    ['/spring///', ['spring']],
    ['/spring+.', ['spring'], true],
    ['/spring.+', ['spring'], true],
    ['/spring).', ['spring']],
    ['/spring%20', ['spring']],
    ['/spring%C2%A0%0A', ['spring']],
    ['/spring%E2%80%8B', ['spring']],
    ['/spring_.', ['spring_', 'spring']],
    ['/spring_+.', ['spring_', 'spring'], true],
    ['/spring*_*', ['spring']],
    ['/spring*_~', ['spring']],
    [`/spring${'.'.repeat(10_000)}`, ['spring']],
  ];
  for (const [path, codes, previewed = false] of named) {
    it(`is ${codes.join(', then ')} of ${JSON.stringify(path.slice(0, 40))}`, () => {
      expect(linkNameIn(path)).to.deep.equal({ codes, previewed });
      expect(routeOf(path)).to.equal(previewed ? '/:shortCode+' : '/:shortCode');
    });
  }

  it('excludes characters that are pasted after a code', () => {
    const characters = [
      ...Array.from('/.,;:!?)]}>\'"”’»*_~ \t\n\u00a0\u3000\u00ad\u200b\u200c\u200d\u200e\u200f'),
      ...Array.from(
        '\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff',
      ),
    ];
    for (const character of characters) {
      const { codes } = linkNameIn(`/spring${encodeURIComponent(character)}`) ?? { codes: [] };
      expect(codes.at(-1), JSON.stringify(character)).to.equal('spring');
    }
  });

  for (const path of [
    ...['/', '/.', '/ab', '/ab.', '/a.b', '/.spring', '/spring%', '/spring%ff', '/spring#', '/+'],
    ...['/spring&', '/spring-+-', `/${'a'.repeat(51)}`, '/v2/usage', '/spring%00'],
  ]) {
    it(`does not exist in ${JSON.stringify(path)}`, () => {
      expect(linkNameIn(path)).to.be.null;
    });
  }

  it('is not one of the fixed paths', () => {
    for (const path of ['/', '/robots.txt', '/favicon.ico', '/health', '/health/ready']) {
      expect(routeOf(path)).to.equal(path);
    }
  });
});
