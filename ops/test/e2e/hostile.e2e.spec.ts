import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import {
  concurrently,
  sendRequest,
  statuses,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import { connectTo, type RawConnection } from '../support/raw-http.js';
import {
  destination,
  expectError,
  keyFixture,
  passwordForm,
  sharedProduct,
  type Link,
} from './harness.js';

const listeners = ['api', 'edge', 'admin'] as const;

describe('against hostile requests, the product', () => {
  const bench = sharedProduct();
  const account = 'hostile';
  const pro = keyFixture(bench, 'PRO', { account });
  let link: Link;

  before(async () => {
    link = await bench.link(pro.key);
  });

  it('serves other clients while slow ones send parts of requests', async () => {
    const { api, edge, admin, adminToken } = bench.product;
    const secured = await bench.link(pro.key, { password: 'a secret' });
    const post = (target: string, token: string): string =>
      `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{';
    const slow: RawConnection[] = [];
    try {
      for (const [origin, start] of [
        [api, 'GET /v2/usage HTTP/1.1\r\nX-Slow: '],
        [api, post('/v2/shorten', pro.key)],
        [edge, 'G'],
        [edge, post(`/${secured.shortCode}`, '')],
        [admin, post('/admin/keys', adminToken)],
      ] as const) {
        const connections = await concurrently(100, () => connectTo(origin));
        for (const { socket } of connections) socket.write(start);
        slow.push(...connections);
      }
      for (const name of listeners) {
        const send = () => sendRequest(`${bench.product[name]}/health`);
        expect(statuses(await concurrently(20, send))).to.deep.equal({ 200: 20 });
      }
      expect((await bench.visit(link.shortCode)).status).to.equal(302);
      await bench.link(pro.key);
      const entry = await bench.visit(secured.shortCode, passwordForm('a secret'));
      expect(entry.status).to.equal(303);
    } finally {
      for (const { socket } of slow) socket.destroy();
    }
  });

  it('redirects only to destinations of links, for any target, host and method', async () => {
    const code = link.shortCode;
    for (const target of [
      ...['//evil.example', '/\\evil.example', '/%5cevil.example', '/%2f%2fevil.example'],
      ...['/.//evil.example', '/..//evil.example', `/${code}//evil.example`, `//${code}`],
      ...[`/${code}/..//evil.example`, `/${code}\\@evil.example`, `/${code};//evil.example`],
      ...[`/${code}?url=//evil.example`, `http://evil.example/${code}`, 'https://evil.example'],
      `/${code}%0d%0aLocation:%20https://evil.example`,
    ]) {
      for (const method of ['GET', 'HEAD', 'POST']) {
        const connection = await connectTo(bench.product.edge);
        connection.socket.write(
          `${method} ${target} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n` +
            'X-Original-URL: //evil.example\r\nReferer: https://evil.example/\r\n' +
            'Content-Length: 0\r\nConnection: close\r\n\r\n',
        );
        await connection.closed(5_000);
        const [head = ''] = connection.received().split('\r\n\r\n');
        expect(head, target).to.match(/^HTTP\/1\.1 (?:302|404|405) /);
        const location = /^Location: (.*)$/m.exec(head)?.[1];
        expect([undefined, destination], target).to.include(location);
      }
    }
  });

  it('reflects the Host header on no listener', async () => {
    // Not that of the trusted proxy.
    const from = { localAddress: '127.0.0.9' };
    const headers = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' };
    const html = { ...headers, Accept: 'text/html' };
    const { shortCode } = link;
    const body = { url: destination };
    for (const response of await Promise.all([
      bench.api('/v2/shorten', pro.key, { method: 'POST', body, headers, ...from }),
      bench.api('/v2/nothing', pro.key, { headers, ...from }),
      bench.api('/v2/shorten', pro.key, { headers, method: 'PUT', ...from }),
      bench.api(`/v2/qr/${shortCode}?format=svg`, pro.key, { headers, ...from }),
      ...[shortCode, `${shortCode}+`].map((at) => bench.visit(at, { headers, ...from })),
      bench.visit('nothing0', { headers: html, ...from }),
      sendRequest(`${bench.product.admin}/admin/keys`, { headers, ...from }),
    ])) {
      expect(JSON.stringify(response.headers) + response.text).to.not.include('evil.example');
    }
  });

  it('never fetches a destination', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/latest/meta-data/`;
      const { shortCode } = await bench.link(pro.key, { url });
      const secured = await bench.link(pro.key, { url, password: 'a secret' });
      await bench.api(`/v2/qr/${shortCode}?format=svg`, pro.key);
      await bench.stats(shortCode, pro.key);
      for (const code of [shortCode, secured.shortCode]) {
        for (const at of [code, `${code}+`]) {
          await bench.visit(at);
          await bench.visit(at, { method: 'HEAD' });
          await bench.visit(at, { headers: { 'User-Agent': 'Googlebot/2.1' } });
        }
      }
      const entry = await bench.visit(secured.shortCode, passwordForm('a secret'));
      expect(entry.headers.location).to.equal(url);
      expect(bench.safeBrowsing.urls().flat(), 'URLs checked by Safe Browsing').to.include(url);
      expect(connections).to.equal(0);
      // The server counts a connection.
      await sendRequest(url).catch((error: unknown) => expect(error).to.have.property('code'));
      expect(connections).to.equal(1);
    } finally {
      server.close();
    }
  });

  it('limits guesses of the admin token to ten a minute; the right one is always accepted', async () => {
    const { admin, adminToken } = bench.product;
    const wrong = 'x'.repeat(32);
    // Wrong guesses block the address.
    const withToken = (token: string, options: RequestOptions = {}): Promise<HttpResponse> =>
      sendRequest(`${admin}/admin/platform`, {
        ...{ localAddress: '127.0.0.2', ...options },
        headers: { ...options.headers, Authorization: `Bearer ${token}` },
      });
    const guesses = await concurrently(200, (guess) =>
      // Not from a trusted proxy.
      withToken(`${wrong}${guess}`, { headers: { 'X-Forwarded-For': `10.0.0.${guess}` } }),
    );
    expect(statuses(guesses)).to.deep.equal({ 401: 10, 429: 190 });
    const late = await withToken(wrong);
    const { retryAfter } = late.json() as { retryAfter: number };
    expectError(late, {
      ...{ status: 429, message: 'Too many attempts. Try again later.', retryAfter },
      path: '/admin/platform',
    });
    expect(retryAfter).to.be.within(1, 60);
    expect(late.headers['retry-after']).to.equal(String(retryAfter));
    expect((await withToken(adminToken)).status).to.equal(200);
    expect((await withToken(wrong, { localAddress: '127.0.0.3' })).status).to.equal(401);
  });
});
