import { expect } from 'chai';
import { listLinksQuery } from './list-links.js';

const read = (query: object) => {
  const result = listLinksQuery.safeParse(query);
  return result.success ? result.data : result.error.issues[0]?.message;
};

describe('schemas: query of GET /v2/links', () => {
  it('asks for the newest 20 links by default', () => {
    expect(read({})).to.deep.equal({ limit: 20, sort: 'created', tag: [] });
  });

  it('takes one tag, or several, each once', () => {
    expect(read({ tag: 'a b' })).to.deep.include({ tag: ['a b'] });
    expect(read({ tag: ['x', 'y', 'x'] })).to.deep.include({ tag: ['x', 'y'] });
  });

  it('reads a domain as the URL Standard does', () => {
    expect(read({ domain: 'EXAMPLE.com' })).to.deep.include({ domain: 'example.com' });
    expect(read({ domain: 'bücher.example' })).to.deep.include({
      domain: 'xn--bcher-kva.example',
    });
    expect(read({ domain: '[::0:1]' })).to.deep.include({ domain: '[::1]' });
  });

  it('counts characters of a search, not UTF-16 units', () => {
    expect(read({ search: '%_\\' })).to.deep.include({ search: '%_\\' });
    expect(read({ search: '😀😀' })).to.match(/^search must/);
    expect(read({ search: '😀'.repeat(100) })).to.be.an('object');
  });

  it('names the parameter that is wrong', () => {
    const wrong: Record<string, readonly unknown[]> = {
      limit: ['0', '101', '1e1', '', ['1', '2']],
      after: ['', 'a b', 'a+b', 'x'.repeat(301), ['x', 'y']],
      sort: ['', 'Created', ['clicks', 'clicks']],
      search: ['ab', 'x'.repeat(101), 'a\u0000bc', 'abc\ud800', ['abc', 'abc']],
      tag: ['', 'a,b', 'x'.repeat(51), ['a', ''], Array.from({ length: 21 }, String)],
      status: ['', 'gone', ['active', 'active']],
      domain: ['', 'example.com/', 'http://example.com', 'example.com:80', 'a b', '[::g]', 'a%zz'],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        expect(read({ [name]: value }), `${name}=${String(value)}`).to.match(
          new RegExp(`^${name} must `),
        );
      }
    }
  });
});
