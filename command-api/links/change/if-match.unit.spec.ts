import { expect } from 'chai';
import { etagOf, ifMatch } from './if-match.js';

describe('command API: If-Match', () => {
  it('names every version, or those in its list; a weak tag names none', () => {
    const matching = (header: string | undefined): readonly number[] =>
      [1, 2, 3].filter(ifMatch(header));
    expect(matching(undefined)).to.deep.equal([1, 2, 3]);
    expect(matching(' * ')).to.deep.equal([1, 2, 3]);
    expect(matching(etagOf(2))).to.deep.equal([2]);
    expect(matching('"1" ,"x", "3"')).to.deep.equal([1, 3]);
    for (const header of ['', 'W/"2"', '2', '"2', '"02"', "'2'"]) {
      expect(matching(header), header).to.deep.equal([]);
    }
  });
});
