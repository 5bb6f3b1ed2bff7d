import { expect } from 'chai';
import { isPrefetch } from './prefetch.js';

describe('redirect edge: prefetch', () => {
  const prefetches: readonly Record<string, string>[] = [
    { 'sec-purpose': 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { 'sec-purpose': 'prefetch;anonymous-client-ip' },
    { purpose: 'prefetch' },
    { purpose: 'Preview' },
    { 'x-purpose': 'preview' },
    { 'x-moz': 'prefetch' },
    { purpose: '', 'x-moz': 'PREFETCH' },
  ];
  for (const headers of prefetches) {
    it(`is ${JSON.stringify(headers)}`, () => {
      expect(isPrefetch(headers)).to.be.true;
    });
  }

  const others: readonly Record<string, string>[] = [
    {},
    { 'sec-purpose': '' },
    { purpose: 'navigation' },
    { 'x-purpose': 'prefetching' },
    { 'sec-fetch-mode': 'prefetch' },
    { 'x-moz': '1' },
  ];
  for (const headers of others) {
    it(`is not ${JSON.stringify(headers)}`, () => {
      expect(isPrefetch(headers)).to.be.false;
    });
  }
});
