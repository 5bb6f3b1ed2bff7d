import { expect } from 'chai';
import { etagOf, ifMatch } from './addressed-link.js';

describe('command API: If-Match', () => {
  it('accepts any version without the header and with *', () => {
    expect(ifMatch(undefined)).to.equal(null);
    expect(ifMatch(' * ')).to.equal(null);
  });

  it('accepts the versions of its list, with strong and weak tags', () => {
    expect(ifMatch(etagOf(2))).to.deep.equal([2]);
    expect(ifMatch('"1" ,"x", W/"3"')).to.deep.equal([1, 3]);
  });

  for (const header of ['', 'w/"2"', '2', '"2', '"02"', "'2'"]) {
    it(`accepts no version with ${JSON.stringify(header)}`, () => {
      expect(ifMatch(header)).to.deep.equal([]);
    });
  }
});
