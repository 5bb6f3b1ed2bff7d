import { expect } from 'chai';
import { validate, version } from 'uuid';
import { newId } from './new-id.js';

describe('platform: new id', () => {
  it('is a unique UUIDv7', () => {
    const ids = Array.from({ length: 1_000 }, newId);
    expect(ids.every((id) => validate(id) && version(id) === 7)).to.equal(true);
    expect(new Set(ids).size).to.equal(ids.length);
  });
});
