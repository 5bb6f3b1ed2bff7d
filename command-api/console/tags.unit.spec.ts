import { expect } from 'chai';
import { areEqualTags, splitTags } from './tags.js';

describe('the console’s tags', () => {
  it('are separated by commas, in order, without duplicates', () => {
    expect(splitTags(' sale,  spring sale,sale,, وسم 🎉 ,')).to.deep.equal([
      'sale',
      'spring sale',
      'وسم 🎉',
    ]);
  });

  it('are equal in any case', () => {
    expect(areEqualTags('Straße', 'STRASSE')).to.equal(true);
    expect(areEqualTags('sale', 'sales')).to.equal(false);
  });
});
