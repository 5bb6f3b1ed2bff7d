import { expect } from 'chai';
import fc from 'fast-check';
import { memoize, referrerOf } from './visit-data.js';

const isOwnHost = ({ host }: URL): boolean => host === 'sho.rt';
const hostOf = (header: string): string | null => referrerOf(header, isOwnHost);

describe('visitors: referrer', () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['https://news.example.com/a/b?q=secret#x', 'news.example.com'],
    ['https://www.example.com/', 'example.com'],
    ['https://WWW.Example.COM', 'example.com'],
    ['http://example.com:8080/x', 'example.com'],
    ['https://example.com./x', 'example.com'],
    ['https://jane:secret@example.com/', 'example.com'],
    ['https://www.com/', 'www.com'],
    ['https://www2.example.com/', 'www2.example.com'],
    ['https://bücher.example/', 'xn--bcher-kva.example'],
    ['http://intranet/wiki', 'intranet'],
    ['https://sho.rt/abc+', null],
    ['http://192.0.2.1/', null],
    ['http://0x7f.1/', null],
    ['http://[2001:db8::1]/', null],
    ['android-app://com.example.app/', null],
    ['file:///home/jane', null],
    ['about:blank', null],
    ['example.com', null],
    ['https://', null],
    ['https://a*b.example/', null],
    [`https://${'a.'.repeat(150)}example/`, null],
    ['', null],
  ];
  for (const [header, host] of cases) {
    it(`is ${host ?? 'unknown'} for "${header.slice(0, 60)}"`, () => {
      expect(hostOf(header)).to.equal(host);
    });
  }

  it('is a host or unknown', () => {
    const header = fc.oneof(
      fc.string(),
      fc.webUrl(),
      fc.ipV6().map((ip) => `http://[${ip}]/`),
    );
    fc.assert(
      fc.property(header, (text) => {
        expect(hostOf(text) ?? 'none').to.match(/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/);
      }),
    );
  });
});

describe('visitors: memoize', () => {
  const create = () => {
    const computed: string[] = [];
    const memoized = memoize((text) => {
      computed.push(text);
      return text === 'none' ? null : text.toUpperCase();
    }, 3);
    return { computed, memoized };
  };

  it('computes the result of a text once, also `null`', () => {
    const { computed, memoized } = create();
    expect(['a', 'none', 'a', 'none'].map(memoized)).to.deep.equal(['A', null, 'A', null]);
    expect(computed).to.deep.equal(['a', 'none']);
  });

  it('drops the oldest result', () => {
    const { computed, memoized } = create();
    for (const text of ['a', 'b', 'c', 'd', 'b', 'e', 'c', 'd', 'e']) memoized(text);
    expect(computed.splice(0)).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
    for (const text of ['a', 'd', 'e']) memoized(text);
    expect(computed).to.deep.equal(['a']);
  });

  it('does not cache the results of long texts', () => {
    const { computed, memoized } = create();
    for (const length of [512, 513]) {
      memoized('x'.repeat(length));
      memoized('x'.repeat(length));
    }
    expect(computed.map(({ length }) => length)).to.deep.equal([512, 513, 513]);
  });
});
