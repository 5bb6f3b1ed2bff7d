import { expect } from 'chai';
import { sendRequest, type RequestOptions } from '../support/http.js';
import { connectTo } from '../support/raw-http.js';
import { passwordForm, sharedProduct } from './harness.js';

/** Requests that the HTTP server itself responds to. */
const rawRequests = [
  'SSH-2.0-x\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  'GET / HTTP/9.9\r\nHost: localhost\r\n\r\n',
  `POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}`,
  `GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
];

describe('product: X-Content-Type-Options', () => {
  const bench = sharedProduct();

  const expectHeaderRaw = async (origin: string): Promise<void> => {
    for (const request of rawRequests) {
      const connection = await connectTo(origin);
      connection.socket.write(request);
      await connection.closed(10_000);
      const heads = connection.received().match(/^HTTP\/1\.1 \d{3}[^]*?\r\n\r\n/gm) ?? [];
      expect(heads, request.slice(0, 60)).to.not.be.empty;
      for (const head of heads) expect(head).to.match(/^X-Content-Type-Options: nosniff\r$/m);
    }
  };

  it('is in every response of every listener', async () => {
    const { api, edge, admin, admins } = bench.product;
    const { key } = await bench.key('PRO');
    const auth = { Authorization: `Bearer ${key}` };
    const { shortCode: open } = await bench.link(key);
    const { shortCode: secured } = await bench.link(key, { password: 'a secret' });
    const tag = (await sendRequest(`${api}/docs`)).headers.etag ?? '';
    for (const [status, url, options = {}] of [
      [200, `${api}/v2/usage`, { headers: auth }],
      [200, `${api}/v2/qr/${open}?format=svg`, { headers: auth }],
      [401, `${api}/v2/usage`],
      [405, `${api}/v2/usage`, { method: 'DELETE', headers: auth }],
      [200, `${api}/docs/swagger-ui.css`],
      [304, `${api}/docs`, { headers: { 'If-None-Match': tag } }],
      [200, `${api}/health`],
      [302, `${edge}/${open}`],
      [200, `${edge}/${secured}`],
      [303, `${edge}/${secured}`, passwordForm('a secret')],
      [404, `${edge}/nothing0`, { headers: { Accept: 'text/html' } }],
      [405, `${edge}/${open}`, { method: 'PUT' }],
      [200, `${edge}/robots.txt`],
      [401, `${admin}/admin/platform`],
      [200, `${admin}/metrics`],
      [421, `${admin}/health`, { headers: { Host: 'evil.example' } }],
    ] satisfies readonly (readonly [number, string, RequestOptions?])[]) {
      const response = await sendRequest(url, options);
      expect(response.status, url).to.equal(status);
      expect(response.headers['x-content-type-options'], url).to.equal('nosniff');
    }
    for (const listener of [api, edge, ...admins]) await expectHeaderRaw(listener);
  });
});
