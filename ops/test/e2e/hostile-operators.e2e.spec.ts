import { expect } from 'chai';
import {
  sendRequest,
  concurrently,
  statuses,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import { connectTo } from '../support/raw-http.js';
import { expectError, productFixture } from './harness.js';

/** Each test uses its own address, because wrong guesses block the address. */
const proxy = '127.0.0.9';

describe('product: admin listener under attack', () => {
  const bench = productFixture({
    ADMIN_HOSTS: 'ops.example.com,command-api-1:8082',
    TRUSTED_PROXIES: proxy,
  });

  const withToken = (token: string, options: RequestOptions = {}): Promise<HttpResponse> =>
    sendRequest(`${bench.product.admin}/admin/platform`, {
      ...options,
      headers: { ...options.headers, Authorization: `Bearer ${token}` },
    });

  describe('a request with a foreign host name (DNS rebinding) gets 421', () => {
    it('on every path', async () => {
      for (const host of [
        ...['evil.example', 'evil.example:8082', 'localhost.evil.example', 'a b'],
        ...['127.0.0.1.evil.example', 'notops.example.com', 'a.ops.example.com', 'evil#localhost'],
      ]) {
        for (const admin of bench.product.admins) {
          for (const path of ['/health', '/health/ready', '/metrics', '/admin/platform']) {
            const headers = { Host: host, Authorization: `Bearer ${bench.product.adminToken}` };
            expectError(await sendRequest(`${admin}${path}?a=b`, { headers }), {
              status: 421,
              message: 'This listener answers to addresses, localhost and the names in ADMIN_HOSTS',
              path,
            });
          }
        }
      }
    });

    it('without a Host', async () => {
      for (const request of [
        'GET /metrics HTTP/1.0\r\n\r\n',
        'GET /metrics HTTP/1.1\r\nHost:\r\n\r\n',
      ]) {
        const connection = await connectTo(bench.product.admin);
        connection.socket.write(request);
        await connection.closed(10_000);
        expect(connection.received()).to.match(/^HTTP\/1\.1 421 /);
      }
    });

    it('in the request target, whatever the Host', async () => {
      const statusFor = async (target: string, host: string): Promise<string> => {
        const connection = await connectTo(bench.product.admin);
        connection.socket.write(
          `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
        );
        await connection.closed(10_000);
        return connection.received().slice(0, 12);
      };
      for (const authority of ['evil.example', 'localhost@evil.example', 'evil.example:8082']) {
        expect(await statusFor(`http://${authority}/metrics`, 'localhost'), authority).to.equal(
          'HTTP/1.1 421',
        );
      }
      expect(await statusFor('http://localhost/metrics', 'evil.example')).to.equal('HTTP/1.1 200');
    });

    it('but not one with an address, localhost, or a name in ADMIN_HOSTS', async () => {
      for (const host of [
        '127.0.0.1',
        '10.0.0.1:1',
        '[::1]:8082',
        'localhost',
        'LOCALHOST:8082',
        'ops.example.com',
        'OPS.example.com.:443',
        'command-api-1',
      ]) {
        const response = await withToken(bench.product.adminToken, { headers: { Host: host } });
        expect(response.status, host).to.equal(200);
      }
    });
  });

  describe('guesses of the token', () => {
    const wrong = 'x'.repeat(32);

    it('get 429 after ten wrong ones in a minute; the right token is always accepted', async () => {
      const from = { localAddress: '127.0.0.2' };
      const guesses = await concurrently(200, (guess) =>
        withToken(`${wrong}${guess}`, {
          ...from,
          // Not from a trusted proxy.
          headers: { 'X-Forwarded-For': `10.0.0.${guess}` },
        }),
      );
      expect(statuses(guesses)).to.deep.equal({ 401: 10, 429: 190 });
      const late = await withToken(wrong, from);
      const { retryAfter } = late.json() as { retryAfter: number };
      expectError(late, {
        status: 429,
        message: 'Too many attempts. Try again later.',
        path: '/admin/platform',
        retryAfter,
      });
      expect(retryAfter).to.be.within(1, 60);
      expect(late.headers['retry-after']).to.equal(String(retryAfter));
      expect((await withToken(bench.product.adminToken, from)).status).to.equal(200);
      expect((await withToken(wrong, from)).status).to.equal(429);
      expect((await withToken(wrong)).status).to.equal(401);
      // A request without a token is not a guess.
      expect((await sendRequest(`${bench.product.admin}/admin/keys`, from)).status).to.equal(401);
      expect((await sendRequest(`${bench.product.admin}/metrics`, from)).status).to.equal(200);
    });

    it('behind a trusted proxy are counted by the client’s address, for IPv6 by its /64', async () => {
      const by = (client: string): RequestOptions => ({
        localAddress: proxy,
        headers: { 'X-Forwarded-For': client },
      });
      const guesses = await concurrently(20, (guess) =>
        withToken(wrong, by(`2001:db8:0:1::${guess.toString(16)}`)),
      );
      expect(statuses(guesses)).to.deep.equal({ 401: 10, 429: 10 });
      expect((await withToken(wrong, by('2001:db8:0:1:ffff::1'))).status).to.equal(429);
      expect((await withToken(wrong, by('2001:db8:0:2::1'))).status).to.equal(401);
    });
  });

  it('rejects reserved names in X-Actor', async () => {
    const { id, key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    const path = `/admin/links/${shortCode}/block`;
    for (const actor of ['system', 'web-safety', 'visitor', 'Web-Safety', id, id.toUpperCase()]) {
      const response = await sendRequest(bench.product.admin + path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${bench.product.adminToken}`, 'X-Actor': actor },
        body: { reason: 'forged' },
      });
      const message = 'X-Actor must not be system, web-safety, visitor or the id of a key';
      expectError(response, { status: 400, message, path, method: 'POST' });
    }
    expect((await bench.visit(shortCode)).status).to.equal(302);
  });
});
