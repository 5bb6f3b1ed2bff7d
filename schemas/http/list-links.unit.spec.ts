import { expect } from 'chai';
import { listLinksQuery } from './list-links.js';

const read = (query: object) => {
  const result = listLinksQuery.safeParse(query);
  return result.success ? result.data : result.error.issues[0]?.message;
};

describe('schemas: query of GET /v2/links', () => {
  it('requests the newest 20 links by default', () => {
    expect(read({})).to.deep.equal({
      ...{ limit: 20, sort: 'created', tag: [], tz: 'UTC' },
    });
  });

  it('accepts one or several tags, without duplicates', () => {
    expect(read({ tag: 'a b' })).to.deep.include({ tag: ['a b'] });
    expect(read({ tag: ['x', 'y', 'x'] })).to.deep.include({ tag: ['x', 'y'] });
  });

  it('reads comma-separated values as repeated ones', () => {
    expect(read({ tag: 'x,y' })).to.deep.include({ tag: ['x', 'y'] });
    expect(read({ tag: ['x,y', 'y', 'z'] })).to.deep.include({ tag: ['x', 'y', 'z'] });
  });

  it('reads a destination as the URL Standard does', () => {
    expect(read({ destination: 'EXAMPLE.com' })).to.deep.include({ destination: 'example.com' });
    expect(read({ destination: 'bücher.example' })).to.deep.include({
      destination: 'xn--bcher-kva.example',
    });
    expect(read({ destination: '[::0:1]' })).to.deep.include({ destination: '[::1]' });
  });

  it('splits a search into terms of at least 2 characters by white space', () => {
    expect(read({ search: '%_\\' })).to.deep.include({ search: ['%_\\'] });
    expect(read({ search: ' Ab\tcd\u00a0\u3000ef\n' })).to.deep.include({
      search: ['ab', 'cd', 'ef'],
    });
    expect(read({ search: 'ab AB' })).to.deep.include({ search: ['ab'] });
    // Characters, not UTF-16 units.
    expect(read({ search: '😀' })).to.match(/^search must/);
    expect(read({ search: '😀'.repeat(100) })).to.be.an('object');
    // In NFC.
    expect(read({ search: 'e\u0301' })).to.match(/^search must/);
    expect(read({ search: 'e\u0301'.repeat(100) })).to.be.an('object');
  });

  it('reads times with an offset, or dates', () => {
    for (const name of ['createdAfter', 'createdBefore']) {
      for (const time of ['2026-11-22', '2026-11-22T09:30:00Z', '2026-11-22T09:30:00 05:45']) {
        expect(read({ [name]: time }), time).to.have.property(name);
      }
    }
  });

  it('names the invalid parameter', () => {
    const wrong: Record<string, readonly unknown[]> = {
      limit: ['0', '101', '1e1', '', ['1', '2']],
      after: ['', 'a b', 'a+b', 'x'.repeat(601), ['x', 'y']],
      domain: ['', 'localhost', '127.0.0.1', 'go.example.com:443', ['a.example', 'b.example']],
      sort: ['', 'Created', ['clicks', 'clicks']],
      search: ['', ' ', 'a', 'ab c', 'x'.repeat(101), 'a\u0000bc', 'abc\ud800', ['abc', 'abc']],
      tag: ['', 'a,', ',', 'x'.repeat(51), ['a', ''], Array.from({ length: 21 }, String)],
      status: ['', 'gone', ['active', 'active']],
      createdAfter: ['', 'yesterday', '2026-02-30', '2026-11-22T09:30:00', ['2026-11-22']],
      createdBefore: ['', '2026-13-01', '2026-11-22T25:00:00Z'],
      tz: ['', '+01:00', 'Mars/Base'],
      destination: [
        '',
        'example.com/',
        'http://example.com',
        'example.com:80',
        'a b',
        '[::g]',
        'a%zz',
      ],
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
