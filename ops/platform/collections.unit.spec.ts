import { expect } from 'chai';
import { BoundedMap } from './collections.js';

describe('platform: bounded map', () => {
  it('evicts the entry that was set first', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
    expect([...map]).to.deep.equal([
      ['a', 3],
      ['c', 4],
    ]);
  });
});
