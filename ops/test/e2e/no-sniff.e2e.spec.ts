import { expect } from 'chai';
import { sendRequest } from '../support/http.js';
import { connectTo } from '../support/raw-http.js';
import { sharedProduct } from './harness.js';

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

  // The harness expects it in all other responses of API, edge and operators.
  it('is in the responses of the HTTP server itself, and in those of other paths', async () => {
    const { api, edge, admin, admins } = bench.product;
    for (const [status, url, headers = {}] of [
      [200, `${api}/docs/swagger-ui.css`],
      [200, `${admin}/metrics`],
      [421, `${admin}/health`, { Host: 'evil.example' }],
    ] as const) {
      const response = await sendRequest(url, { headers });
      expect(response.status, url).to.equal(status);
      expect(response.headers['x-content-type-options'], url).to.equal('nosniff');
    }
    for (const listener of [api, edge, ...admins]) await expectHeaderRaw(listener);
  });
});
