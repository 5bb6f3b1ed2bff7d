import { expect } from 'chai';
import { splitTags } from './tags.js';

describe('the console’s tags', () => {
  it('stand between commas, in the order given, and none twice', () => {
    expect(splitTags(' sale,  spring sale,sale,, وسم 🎉 ,')).to.deep.equal([
      'sale',
      'spring sale',
      'وسم 🎉',
    ]);
  });

  it('are none in an empty text', () => {
    expect(splitTags(' , ')).to.deep.equal([]);
  });
});
