import { expect } from 'chai';
import { remember } from './remember.js';

describe('redirect edge: what is remembered of texts', () => {
  const judging = () => {
    const judged: string[] = [];
    const of = remember((text) => {
      judged.push(text);
      return text === 'none' ? null : text.toUpperCase();
    }, 3);
    return { judged, of };
  };

  it('judges a text once, whatever comes of it', () => {
    const { judged, of } = judging();
    expect([of('a'), of('none'), of('a'), of('none')]).to.deep.equal(['A', null, 'A', null]);
    expect(judged).to.deep.equal(['a', 'none']);
  });

  it('forgets the oldest', () => {
    const { judged, of } = judging();
    for (const text of ['a', 'b', 'c', 'd', 'b', 'e', 'c', 'd', 'e']) of(text);
    expect(judged.splice(0)).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
    for (const text of ['a', 'd', 'e']) of(text);
    expect(judged).to.deep.equal(['a']);
  });

  it('does not remember long ones', () => {
    const { judged, of } = judging();
    for (const length of [512, 513]) {
      of('x'.repeat(length));
      of('x'.repeat(length));
    }
    expect(judged.map(({ length }) => length)).to.deep.equal([512, 513, 513]);
  });

  it('judges many as it judges one', () => {
    const { judged, of } = judging();
    of('a');
    expect(of.all(['b', 'a', 'b', 'none'])).to.deep.equal(['B', 'A', 'B', null]);
    expect(of.all([])).to.deep.equal([]);
    expect(judged).to.deep.equal(['a', 'b', 'none']);
    expect(of.all(['c', 'a', 'b', 'c', 'd'])).to.deep.equal(['C', 'A', 'B', 'C', 'D']);
  });
});
