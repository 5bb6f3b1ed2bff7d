import { expect } from 'chai';
import { parseDestination, parseUrl } from './parse-url.js';

describe('schemas: parse URL', () => {
  const hosts: readonly (readonly [string, string | null])[] = [
    ['faß.de', 'xn--fa-hia.de'],
    // Capital sharp s: `ss` before Unicode 15.1, which Node 20 and 22 still have.
    ['FA\u1e9e.de', 'xn--fa-hia.de'],
    ['fa%E1%BA%9E.de', 'xn--fa-hia.de'],
    ['\u03b2\u03cc\u03bb\u03bf\u03c2.com', 'xn--nxasmm1c.com'],
    ['B\u00dccher.example:8080', 'xn--bcher-kva.example:8080'],
    ['例え。jp', 'xn--r8jz45g.jp'],
    ['\uff11\uff12\uff17.0.0.1', '127.0.0.1'],
    ['a_b.de', 'a_b.de'],
    ['a--\u00fc.de', 'xn--a---joa.de'],
    ['xn--fa-hia.de', 'xn--fa-hia.de'],
    // Invalid labels: Node 24 takes them.
    ['xn--a.de', null],
    ['XN--.de', null],
    ['a\u200cb.de', null],
    ['a\u0660.com', null],
    ['\u0301a.de', null],
    ['\u{1f4a9}%2F.la', null],
    ['fa\u00df%40.de', null],
    ['b\u00fc%FFcher.de', null],
    ['b\u00fccher.de:65536', null],
    ['\u00ad', null],
  ];
  for (const [host, expected] of hosts) {
    it(`converts the host ${JSON.stringify(host)} by current UTS 46: ${expected ?? 'none'}`, () => {
      for (const [before, after] of [
        ['https://', '/%C3%A4?b#c'],
        ['HTTP://', ''],
        ['http://', '?\u1e9e'],
      ] as const) {
        const url = parseUrl(before + host + after);
        expect(url?.host ?? null).to.equal(expected);
        if (url) expect(url.href).to.equal(new URL(`${before}${expected ?? ''}${after}`).href);
      }
    });
  }

  it('reads a stored destination even if its domain is no longer allowed', () => {
    const host = `${'a.'.repeat(150)}fa\u00df.de`;
    expect(parseUrl(`https://${host}/`)).to.equal(null);
    expect(parseDestination(`https://${host}/`).host).to.match(/\.xn--fa-hia\.de$/);
    expect(parseDestination('https://FA\u1e9e.de/a').href).to.equal('https://xn--fa-hia.de/a');
  });

  it('returns null for invalid URLs', () => {
    for (const text of ['', 'example.com', 'http://', '//example.com/']) {
      expect(parseUrl(text), text).to.equal(null);
    }
  });
});
