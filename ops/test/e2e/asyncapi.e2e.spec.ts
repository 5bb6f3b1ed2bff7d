import { expect } from 'chai';
import { asyncApiDocument } from '../../../command-api/http/asyncapi/document.js';
import { sharedProduct } from './harness.js';

// responses.e2e.spec.ts checks the methods and listeners of both documents; docs.more.spec.ts opens the pages.

describe('command API: GET /asyncapi.json', () => {
  const bench = sharedProduct();

  it('is the document of the events, needs no key, and has an ETag', async () => {
    const response = await bench.api('/asyncapi.json', null);
    expect(response.status).to.equal(200);
    expect(response.headers).to.include({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    });
    expect(response.text).to.equal(JSON.stringify(asyncApiDocument()));
    const { etag = '' } = response.headers;
    const headers = { 'If-None-Match': etag };
    const again = await bench.api('/asyncapi.json', null, { headers });
    expect([again.status, again.text]).to.deep.equal([304, '']);
    const head = await bench.api('/asyncapi.json', null, { method: 'HEAD' });
    expect([head.status, head.text]).to.deep.equal([200, '']);
  });
});

describe('command API: pages of the documentation', () => {
  const bench = sharedProduct();

  for (const path of ['/docs', '/docs/events']) {
    it(`have a content security policy without foreign origins or inline code: ${path}`, async () => {
      const response = await bench.api(path, null);
      expect(response.headers['content-type']).to.equal('text/html; charset=utf-8');
      const policy = response.headers['content-security-policy'] ?? '';
      expect(policy).to.match(/default-src 'none'.*script-src 'self';/);
      expect(policy).not.to.match(/unsafe|https?:|\*/);
      expect(response.text).not.to.match(/<script>|<style|style=/);
    });
  }
});
