import { expect } from 'chai';
import { sendRequest, type RequestOptions } from '../support/http.js';
import { connectTo } from '../support/raw-http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { sharedProduct } from './harness.js';

const json = { 'Content-Type': 'application/json' };
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };

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

  /** Sends each request, and expects its status and the header. */
  const expectHeader = async (
    requests: readonly (readonly [number, string, RequestOptions])[],
  ): Promise<void> => {
    for (const [status, url, options] of requests) {
      const response = await sendRequest(url, options);
      const what = `${options.method ?? 'GET'} ${url}`;
      expect(response.status, what).to.equal(status);
      expect(response.headers['x-content-type-options'], what).to.equal('nosniff');
    }
  };

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

  it('is in every response of the API', async () => {
    const { api } = bench.product;
    const { key } = await bench.key('FREE');
    const auth = { Authorization: `Bearer ${key}` };
    const { shortCode } = await bench.link(key);
    const tag = (await sendRequest(`${api}/docs`)).headers.etag ?? '';
    const post = (body: unknown, headers = {}): RequestOptions => ({
      method: 'POST',
      headers: { ...json, ...auth, ...headers },
      body,
    });
    await expectHeader([
      [200, `${api}/v2/usage`, { headers: auth }],
      [200, `${api}/v2/qr/${shortCode}?format=svg`, { headers: auth }],
      [201, `${api}/v2/shorten`, post({ url: 'https://example.com' })],
      [400, `${api}/v2/shorten`, post('{')],
      [401, `${api}/v2/usage`, {}],
      [404, `${api}/v2/nothing`, { headers: auth }],
      [405, `${api}/v2/usage`, { method: 'DELETE', headers: auth }],
      [413, `${api}/v2/shorten`, post('x'.repeat(70_000))],
      [415, `${api}/v2/shorten`, post('x', form)],
      [200, `${api}/openapi.json`, {}],
      [200, `${api}/docs/swagger-ui.css`, {}],
      [304, `${api}/docs`, { headers: { 'If-None-Match': tag } }],
      [200, `${api}/health`, {}],
    ]);
    await expectHeaderRaw(api);
  });

  it('is in every response of the edge', async () => {
    const { edge } = bench.product;
    const { key } = await bench.key('PRO');
    const open = (await bench.link(key)).shortCode;
    const secured = (await bench.link(key, { password: 'a secret' })).shortCode;
    const limited = (await bench.link(key, { maxClicks: 1 })).shortCode;
    const html = { headers: { Accept: 'text/html' } };
    const enter = (body: string, headers = form): RequestOptions => ({
      method: 'POST',
      headers,
      body,
    });
    await expectHeader([
      [302, `${edge}/${open}`, {}],
      [200, `${edge}/${secured}`, {}],
      [303, `${edge}/${secured}`, enter('password=a+secret')],
      [401, `${edge}/${secured}`, enter('password=wrong')],
      [413, `${edge}/${secured}`, enter('x'.repeat(5_000))],
      [415, `${edge}/${secured}`, enter('{}', json)],
      [302, `${edge}/${limited}`, {}],
      [410, `${edge}/${limited}`, html],
      [404, `${edge}/nothing0`, html],
      [405, `${edge}/${open}`, { method: 'PUT' }],
      [200, `${edge}/robots.txt`, {}],
      [200, `${edge}/health`, {}],
      [200, `${edge}/health/ready`, {}],
    ]);
    await expectHeaderRaw(edge);
  });

  it('is in every response of the admin listeners', async () => {
    const { admin, admins, adminToken } = bench.product;
    const auth = { Authorization: `Bearer ${adminToken}` };
    await expectHeader([
      [200, `${admin}/admin/platform`, { headers: auth }],
      [400, `${admin}/admin/keys`, { method: 'POST', headers: { ...json, ...auth }, body: '{' }],
      [401, `${admin}/admin/platform`, {}],
      [404, `${admin}/admin/nothing`, { headers: auth }],
      [405, `${admin}/admin/platform`, { method: 'PUT', headers: auth }],
    ]);
    for (const listener of admins) {
      await expectHeader([
        [200, `${listener}/health`, {}],
        [200, `${listener}/health/ready`, {}],
        [200, `${listener}/metrics`, {}],
        [405, `${listener}/metrics`, { method: 'PUT' }],
        [404, `${listener}/nothing`, {}],
        [421, `${listener}/health`, { headers: { Host: 'evil.example' } }],
      ]);
      await expectHeaderRaw(listener);
    }
  });

  it('is in responses during maintenance', async () => {
    const { api, edge } = bench.product;
    const { shortCode } = await bench.link((await bench.key('PRO')).key);
    await bench.admin('PATCH', '/admin/platform', { maintenance: true });
    try {
      // The switch may take a second to reach each node.
      await eventuallyPasses(() =>
        expectHeader([
          [503, `${api}/v2/usage`, {}],
          [503, `${edge}/${shortCode}`, {}],
          [503, `${edge}/${shortCode}`, { headers: { Accept: 'text/html' } }],
          [503, `${edge}/${shortCode}`, { method: 'POST', headers: form, body: 'password=x' }],
        ]),
      );
    } finally {
      await bench.admin('PATCH', '/admin/platform', { maintenance: false });
    }
  });
});
