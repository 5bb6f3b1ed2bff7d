import { expect } from 'chai';
import type { ServedLink } from '../domain/visit.js';
import { LinkCache } from './link-reader.js';

const link: ServedLink = {
  code: 'spring',
  account: 'acme',
  status: 'active',
  location: 'https://example.com/spring',
  createdAt: 0,
  expiresAt: null,
  limited: false,
  passwordHash: null,
  sequence: 1,
};

describe('redirect edge: link cache', () => {
  it('doubts a link ten minutes after it was read, and keeps it for a PostgreSQL that is away', () => {
    let now = 0;
    const cache = new LinkCache(1e6, () => now);
    cache.set(link, 1);
    now = 600_000;
    expect(cache.get('spring', 1)).to.include(link);
    now += 1_000;
    expect(cache.get('spring', 1)).to.equal(undefined);
    expect(cache.get('spring', null)).to.include(link);
    cache.set(link, 1);
    expect(cache.get('spring', 1)).to.include(link);
  });

  it('doubts a link of an older generation', () => {
    const cache = new LinkCache(1e6);
    cache.set(link, 1);
    expect(cache.get('spring', 2)).to.equal(undefined);
    expect(cache.get('spring', null)).to.include(link);
  });

  it('gives up a link that was not asked for while all others came by', () => {
    // Room for two.
    const cache = new LinkCache(1_000);
    const set = (code: string): void => {
      cache.set({ ...link, code }, 1);
    };
    const kept = (): readonly string[] =>
      ['one', 'two', 'three', 'four'].filter((code) => cache.get(code, null));
    set('one');
    set('two');
    set('three');
    expect(cache.count).to.equal(2);
    cache.get('two', 1);
    set('four');
    expect(kept()).to.deep.equal(['two', 'four']);
  });

  it('finds room for a link where all others are in use', () => {
    const cache = new LinkCache(100_000);
    for (let index = 0; index < 1_000; index += 1) {
      for (let before = 0; before < index; before += 1) cache.get(String(before), null);
      cache.set({ ...link, code: String(index) }, 1);
      expect(cache.get(String(index), 1)).to.not.equal(undefined);
      expect(cache.size).to.be.at.most(100_000);
    }
    expect(cache.count).to.be.above(200);
  });
});
