import { expect } from 'chai';
import fc from 'fast-check';
import { batchSize, inBatches, pastedUrls } from './pasted-urls.js';

describe('pasted URLs', () => {
  it('are the lines of a text, with any line ends, without white space and empty lines', () => {
    const text = ' https://a.example/ \r\n\r\nhttps://b.example/\rnot a URL\n\n';
    expect(pastedUrls(text)).to.deep.equal([
      'https://a.example/',
      'https://b.example/',
      'not a URL',
    ]);
  });

  it('are split into batches in order, within the limit of a call', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 200 }), (items) => {
        const batches = inBatches(items);
        expect(batches.flat()).to.deep.equal(items);
        for (const batch of batches) expect(batch).to.have.length.within(1, batchSize);
      }),
    );
  });
});
