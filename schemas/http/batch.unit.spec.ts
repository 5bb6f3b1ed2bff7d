import { expect } from 'chai';
import { batchRequest, batchResponse } from './batch.js';

describe('schemas: body of POST /v2/shorten/batch', () => {
  it('has 1 to 50 items of any type', () => {
    for (const urls of [[null], [{ url: 5 }, 'x'], Array.from({ length: 50 }, () => ({}))]) {
      expect(batchRequest.parse({ urls, more: 1 })).to.deep.equal({ urls });
    }
  });

  const wrong = [
    {},
    null,
    [],
    'urls',
    { urls: [] },
    { urls: null },
    { urls: { length: 1 } },
    { urls: Array.from({ length: 51 }, () => ({})) },
  ];
  for (const body of wrong) {
    it(`refuses ${JSON.stringify(body).slice(0, 40)}`, () => {
      const result = batchRequest.safeParse(body);
      expect(result.error?.issues.map(({ message }) => message)).to.deep.equal([
        'urls must contain between 1 and 50 items',
      ]);
    });
  }
});

describe('schemas: response of POST /v2/shorten/batch', () => {
  const url = 'https://example.com/';
  const results = [
    {
      index: 0,
      success: true,
      shortUrl: 'https://sho.rt/spring',
      shortCode: 'spring',
      url,
      createdAt: '2026-05-20T12:00:00.000Z',
    },
    { index: 1, success: false, url: null, statusCode: 400, message: 'no' },
    {
      index: 2,
      success: false,
      url,
      statusCode: 429,
      message: 'no more',
      limit: 35,
      resetDate: '2026-06-01',
      upgradeUrl: url,
    },
  ];

  it('has links and failures', () => {
    expect(batchResponse.safeParse({ results }).success).to.equal(true);
  });

  it('requires the link of a success, and the reason of a failure', () => {
    for (const result of [
      { index: 0, success: true, url },
      { index: 0, success: false, url },
      { success: false, url, statusCode: 400, message: 'no' },
    ]) {
      expect(batchResponse.safeParse({ results: [result] }).success).to.equal(false);
    }
  });
});
