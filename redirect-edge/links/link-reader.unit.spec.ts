import { noOptions } from '../../schemas/link-options.js';
import { expect } from 'chai';
import type { ServedLink } from '../redirect/decision.js';
import { LinkCache } from './link-reader.js';

const link: ServedLink = {
  ...{ subject: 'spring', account: 'acme', status: 'active', createdAt: 0 },
  ...{ location: 'https://example.com/spring', options: noOptions },
  ...{ startsAt: null, expiresAt: null, limited: false, passwordHash: null, sequence: 1 },
  ...{ codes: [], campaigns: null },
};

describe('redirect edge: link cache', () => {
  it('marks a link as stale after ten minutes, and keeps it for outages of PostgreSQL', () => {
    const cache = new LinkCache(1e6);
    cache.set(link, 1, 0);
    expect(cache.get('spring', 1, 600_000)).to.include(link);
    expect(cache.get('spring', 1, 601_000)).to.equal(undefined);
    expect(cache.get('spring', null, 601_000)).to.include(link);
    cache.set(link, 1, 601_000);
    expect(cache.get('spring', 1, 601_000)).to.include(link);
  });

  it('finds a link by each of its codes, as long as it has them', () => {
    const cache = new LinkCache(1e6);
    cache.set({ ...link, codes: ['sprnig', 'go.example/spring'] }, 1, 0);
    const withCodes = cache.size;
    for (const code of ['spring', 'sprnig', 'go.example/spring']) {
      expect(cache.get(code, 1, 0)).to.include({ subject: 'spring' });
    }
    cache.set({ ...link, codes: ['sprnig'] }, 1, 0);
    expect(cache.get('sprnig', 1, 0)).to.include({ subject: 'spring' });
    expect(cache.get('go.example/spring', null)).to.equal(undefined);
    expect(cache.count).to.equal(1);
    expect(cache.size).to.be.below(withCodes);
    cache.delete('spring');
    expect(cache.get('sprnig', null)).to.equal(undefined);
    expect(cache.size).to.equal(0);
  });

  it('treats a link of the future or of an older generation as stale', () => {
    const cache = new LinkCache(1e6);
    cache.set(link, 1, 601_000);
    expect(cache.get('spring', 1, 1_000)).to.include(link);
    expect(cache.get('spring', 1, 0)).to.equal(undefined);
    expect(cache.get('spring', 2, 601_000)).to.equal(undefined);
    expect(cache.get('spring', null)).to.include(link);
  });

  it('evicts a link that was not used', () => {
    // Enough for two links.
    const cache = new LinkCache(1_000);
    for (const subject of ['one', 'two', 'three']) cache.set({ ...link, subject }, 1);
    expect(cache.count).to.equal(2);
    cache.get('two', 1);
    cache.set({ ...link, subject: 'four' }, 1);
    const subjects = ['one', 'two', 'three', 'four'];
    expect(subjects.filter((subject) => cache.get(subject, null))).to.deep.equal(['two', 'four']);
  });

  it('keeps others if a link is too large', () => {
    const cache = new LinkCache(1_000);
    cache.set(link, 1);
    cache.set({ ...link, subject: 'large', location: `https://example.com/${'x'.repeat(900)}` }, 1);
    expect(cache.get('large', null)).to.equal(undefined);
    expect(cache.get('spring', null)).to.include(link);
  });

  it('evicts links even if all are in use', () => {
    const cache = new LinkCache(50_000);
    for (let index = 0; index < 400; index += 1) {
      for (let before = 0; before < index; before += 1) cache.get(String(before), null);
      cache.set({ ...link, subject: String(index) }, 1);
      expect(cache.get(String(index), 1)).to.not.equal(undefined);
      expect(cache.size).to.be.at.most(50_000);
    }
    expect(cache.count).to.be.above(100);
  });
});
