import { expect } from 'chai';
import type { ServedLink } from '../domain/visit.js';
import { LinkCache } from './link-reader.js';

const link: ServedLink = {
  code: 'spring',
  account: 'acme',
  status: 'active',
  location: 'https://example.com/spring',
  createdAt: 0,
  expiresAt: Infinity,
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
    expect(cache.get('spring', 1)).to.equal(link);
    now += 1;
    expect(cache.get('spring', 1)).to.equal(undefined);
    expect(cache.get('spring', null)).to.equal(link);
    cache.set(link, 1);
    expect(cache.get('spring', 1)).to.equal(link);
  });

  it('doubts a link of an older generation', () => {
    const cache = new LinkCache(1e6);
    cache.set(link, 1);
    expect(cache.get('spring', 2)).to.equal(undefined);
    expect(cache.get('spring', null)).to.equal(link);
  });

  it('gives up the link that was asked for the longest ago, as far as ten seconds tell', () => {
    let now = 0;
    // Room for two.
    const cache = new LinkCache(1_000, () => now);
    const set = (code: string): void => {
      cache.set({ ...link, code }, 1);
    };
    set('one');
    set('two');
    now = 10_001;
    cache.get('one', 1);
    set('three');
    expect(['one', 'two', 'three'].map((code) => cache.get(code, 1)?.code)).to.deep.equal([
      'one',
      undefined,
      'three',
    ]);
  });
});
