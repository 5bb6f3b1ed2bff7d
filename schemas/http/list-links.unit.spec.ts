import { expect } from 'chai';
import { messageOf } from '../testing/messages.js';
import { listLinksQuery } from './list-links.js';

describe('schemas: query of GET /v2/links', () => {
  const defaults = { limit: 20, sort: 'created', tag: [], tz: 'UTC' };

  const accepted: readonly (readonly [title: string, query: object, parsed: object])[] = [
    ['requests the newest 20 links by default', {}, {}],
    ['accepts a tag with a space', { tag: 'a b' }, { tag: ['a b'] }],
    ['accepts several tags, without duplicates', { tag: ['x', 'y', 'x'] }, { tag: ['x', 'y'] }],
    ['reads comma-separated values', { tag: 'x,y' }, { tag: ['x', 'y'] }],
    ['reads repeated lists', { tag: ['x,y', 'y', 'z'] }, { tag: ['x', 'y', 'z'] }],
    ['reads a host', { destination: 'EXAMPLE.com' }, { destination: 'example.com' }],
    [
      'reads a host as the URL Standard does',
      { destination: 'bücher.example' },
      { destination: 'xn--bcher-kva.example' },
    ],
    ['reads an IPv6 address', { destination: '[::0:1]' }, { destination: '[::1]' }],
    ['accepts any two characters in a search', { search: '%_\\' }, { search: ['%_\\'] }],
    [
      'splits a search by white space',
      { search: ' Ab\tcd\u00a0\u3000ef\n' },
      { search: ['ab', 'cd', 'ef'] },
    ],
    ['searches for each term once', { search: 'ab AB' }, { search: ['ab'] }],
  ];
  for (const [title, query, parsed] of accepted) {
    it(title, () => {
      expect(listLinksQuery.parse(query)).to.deep.equal({ ...defaults, ...parsed });
    });
  }

  it('counts the characters of a search in NFC, not UTF-16 units', () => {
    for (const character of ['😀', 'e\u0301']) {
      expect(messageOf(listLinksQuery, { search: character })).to.match(/^search must/);
      expect(messageOf(listLinksQuery, { search: character.repeat(100) })).to.equal(null);
    }
  });

  it('reads times with an offset, or dates', () => {
    for (const name of ['createdAfter', 'createdBefore']) {
      for (const time of ['2026-11-22', '2026-11-22T09:30:00Z', '2026-11-22T09:30:00 05:45']) {
        expect(listLinksQuery.parse({ [name]: time }), time).to.have.property(name);
      }
    }
  });

  const wrong: Record<string, readonly unknown[]> = {
    limit: ['0', '101', '1e1', '', ['1', '2']],
    after: ['', 'a b', 'a+b', 'x'.repeat(2_049), ['x', 'y']],
    domain: ['', 'a b', 'go.example.com:443', ['a.example', 'b.example']],
    sort: ['', 'Created', ['clicks', 'clicks']],
    search: ['', ' ', 'a', 'ab c', 'x'.repeat(101), 'a\u0000bc', 'abc\ud800', ['abc', 'abc']],
    tag: ['', 'a,', ',', 'x'.repeat(51), ['a', ''], Array.from({ length: 21 }, String)],
    status: ['', 'gone', ['active', 'active']],
    createdAfter: ['', 'yesterday', '2026-02-30', '2026-11-22T09:30:00', ['2026-11-22']],
    createdBefore: ['', '2026-13-01', '2026-11-22T25:00:00Z'],
    tz: ['', '+01:00', 'Mars/Base'],
    destination: [
      ...['', 'example.com/', 'http://example.com', 'example.com:80', 'a b', '[::g]', 'a%zz'],
    ],
  };
  for (const [name, values] of Object.entries(wrong)) {
    it(`names an invalid ${name}`, () => {
      for (const value of values) {
        const message = messageOf(listLinksQuery, { [name]: value });
        expect(message?.startsWith(`${name} must `), String(value)).to.be.true;
      }
    });
  }
});
