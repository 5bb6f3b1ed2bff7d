import { expect } from 'chai';
import { specifyMessages } from '../testing/messages.js';
import { batchRequest } from './batch.js';

describe('schemas: body of POST /v2/shorten/batch', () => {
  it('has 1 to 50 items of any type', () => {
    for (const urls of [[null], [{ url: 5 }, 'x'], Array.from({ length: 50 }, () => ({}))]) {
      expect(batchRequest.parse({ urls, more: 1 })).to.deep.equal({ urls });
    }
  });

  const wrong = [[], null, { length: 1 }, Array.from({ length: 51 }, () => ({}))];
  specifyMessages(batchRequest, [
    [
      'urls must contain between 1 and 50 items',
      ...[{}, null, [], 'urls', ...wrong.map((urls) => ({ urls }))],
    ],
  ]);
});
