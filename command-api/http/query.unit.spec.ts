import { expect } from 'chai';
import { readQuery } from './query.js';

const read = (query: string): object => readQuery(`/v2/links?${query}`);

describe('command API: query parameters', () => {
  const taken: readonly (readonly [string, Readonly<Record<string, string | string[]>>])[] = [
    ['', {}],
    ['&&', {}],
    ['limit=20&tag=a&tag=b', { limit: '20', tag: ['a', 'b'] }],
    ['search=a=b&tag', { search: 'a=b', tag: '' }],
    ['search=M%C3%BCnchen', { search: 'M\u00fcnchen' }],
    ['s%C3%BC=%F0%9F%98%80', { sü: '\u{1f600}' }],
    ['search=%EF%BB%BFa', { search: '\ufeffa' }],
    ['search=a+b%2Bc', { search: 'a b+c' }],
    // Not every percent sign starts an escape.
    ['search=100%&tag=%zz%4', { search: '100%', tag: '%zz%4' }],
    ['__proto__=a&constructor=b', JSON.parse('{"__proto__":"a","constructor":"b"}') as never],
  ];
  for (const [query, parameters] of taken) {
    it(`reads ${JSON.stringify(query)}`, () => {
      expect(read(query)).to.deep.equal({ type: 'read', parameters });
    });
  }

  it('reads no parameters without a query', () => {
    for (const target of ['/v2/links', '/v2/links?', 'http://a/v2/links']) {
      expect(readQuery(target), target).to.deep.equal({ type: 'read', parameters: {} });
    }
  });

  it('refuses invalid UTF-8, with the name of the parameter', () => {
    for (const [query, name] of [
      ['search=M%FCnchen', 'search'],
      ['limit=1&tag=%ED%A0%80', 'tag'],
      ['search=%C3%28', 'search'],
      ['search=%C0%AF', 'search'],
      ['search=%E4', 'search'],
      ['t%FFg=a', null],
    ] as const) {
      expect(read(query), query).to.deep.equal({ type: 'notUtf8', name });
    }
  });

  it('reads at most 1,000 parameters', () => {
    const query = Array.from({ length: 1_500 }, (_, index) => `a=${index}`).join('&');
    expect(read(query)).to.have.nested.property('parameters.a').with.lengthOf(1_000);
  });
});
