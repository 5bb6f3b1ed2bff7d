import { expect } from 'chai';
import { splitTags } from './tags.js';

describe('the console’s tags', () => {
  it('are separated by commas, in order, without duplicates', () => {
    expect(splitTags(' sale,  spring sale,sale,, وسم 🎉 ,')).to.deep.equal([
      'sale',
      'spring sale',
      'وسم 🎉',
    ]);
  });

  it('are empty for an empty text', () => {
    expect(splitTags(' , ')).to.deep.equal([]);
  });
});
