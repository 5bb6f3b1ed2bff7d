import { expect } from 'chai';
import { createVerdictCache } from './verdict-cache.js';

describe('command API: cache of verdicts', () => {
  it('returns a verdict until it expires', () => {
    let time = 0;
    const cache = createVerdictCache({ maxEntries: 10, now: () => time });
    cache.set('a', 'unsafe', 100);
    cache.set('b', 'safe', 50);
    time = 99;
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).to.deep.equal(['unsafe', null, null]);
    time = 100;
    expect(cache.get('a')).to.be.null;
    cache.set('a', 'safe', 1);
    expect(cache.get('a')).to.equal('safe');
  });

  it('evicts the oldest entry when it is full', () => {
    const cache = createVerdictCache({ maxEntries: 3, now: () => 0 });
    for (const url of ['a', 'b', 'c']) cache.set(url, 'safe', 1);
    cache.set('a', 'unsafe', 1);
    cache.set('d', 'safe', 1);
    const known = ['a', 'b', 'c', 'd'].map((url) => cache.get(url));
    expect(known).to.deep.equal(['unsafe', null, 'safe', 'safe']);
  });
});
