import { expect } from 'chai';
import { messageOf, specifyMessages } from '../testing/messages.js';
import { batchRequest, batchResponse } from './batch.js';

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

describe('schemas: response of POST /v2/shorten/batch', () => {
  const url = 'https://example.com/';
  const failure = { index: 1, success: false, url, statusCode: 429, message: 'no' };

  it('has links and failures', () => {
    const link = { shortUrl: 'https://sho.rt/a', shortCode: 'a', url };
    const results = [
      { index: 0, success: true, ...link, createdAt: '2026-05-20T12:00:00.000Z' },
      { ...failure, url: null },
      { ...failure, limit: 35, resetDate: '2026-06-01', upgradeUrl: url },
    ];
    expect(messageOf(batchResponse, { results })).to.equal(null);
  });

  it('requires the link of a success, and the reason of a failure', () => {
    for (const result of [
      { index: 0, success: true, url },
      { index: 0, success: false, url },
      { ...failure, index: undefined },
    ]) {
      expect(messageOf(batchResponse, { results: [result] })).to.be.a('string');
    }
  });
});
