import { expect } from 'chai';
import { memoize } from './memoize.js';

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
