import { expect } from 'chai';
import { notBefore } from './decision.js';
import { at } from './testing/events.js';

describe('schemas: time of the next event', () => {
  it('is now, but never before the last event', () => {
    expect(notBefore(at(2), at(1))).to.deep.equal(at(2));
    expect(notBefore(at(1), at(1))).to.deep.equal(at(1));
    expect(notBefore(at(1), at(2))).to.deep.equal(at(2));
  });
});
