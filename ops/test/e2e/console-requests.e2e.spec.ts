import { expect } from 'chai';
import { sendRequest } from '../support/http.js';
import { consoleCalls, cookieOf, sessionPath, setCookie, untrusted } from './console-harness.js';
import { destination, expectBody, expectError, sharedProduct } from './harness.js';

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

describe('product: requests to the console', () => {
  const bench = sharedProduct();
  const { sendFromPage, signIn, session, operator } = consoleCalls(bench);

  it('is where a browser gets from the root of both listeners', async () => {
    for (const listener of [bench.product.api, bench.product.admin]) {
      const headers = { Accept: 'text/html,*/*' };
      const html = await sendRequest(`${listener}/`, { headers });
      expect([html.status, html.headers.location, html.text]).to.deep.equal([302, '/console', '']);
      expect(html.headers).to.include({ 'cache-control': 'no-store', vary: 'Accept' });
      const posted = await sendRequest(`${listener}/`, { headers, method: 'POST' });
      expect(posted.status).to.equal(404);
      expect((await sendRequest(`${listener}/`)).status).to.equal(404);
      const icon = await sendRequest(`${listener}/favicon.ico`);
      expect([icon.status, icon.headers['content-type']]).to.deep.equal([200, 'image/svg+xml']);
    }
  });

  describe('a page of another site', () => {
    it('changes nothing', async () => {
      const { api, admin, adminToken } = bench.product;
      const { key, Cookie, ask } = await session();
      const { shortCode } = await bench.link(key);
      const operating = cookieOf(await operator('maria'));
      const calls = [
        [api, Cookie, 'POST', sessionPath, { key }],
        [api, Cookie, 'DELETE', sessionPath],
        [api, Cookie, 'POST', '/console/v2/shorten', { url: destination }],
        [api, Cookie, 'POST', `/console/v2/qr/${shortCode}`],
        [api, Cookie, 'PATCH', '/console/none'],
        [admin, operating, 'POST', sessionPath, { token: adminToken, actor: 'maria' }],
        [admin, operating, 'DELETE', sessionPath],
        [admin, operating, 'PATCH', '/console/admin/platform', { features: { qr: false } }],
      ] as const;
      // ops/http/request-origin.unit.spec.ts has more origins.
      for (const foreign of [
        { Origin: 'http://evil.example', 'X-Forwarded-Host': 'evil.example' },
        { Origin: 'null' },
        {},
      ]) {
        for (const [listener, cookie, method, path, body] of calls) {
          const headers = { Cookie: cookie, ...foreign };
          const options = { method, headers, body, localAddress: untrusted };
          const response = await sendRequest(listener + path, options);
          const message = 'Origin must be that of the console';
          expectError(response, { status: 403, message, path, method });
          expect(setCookie(response)).to.equal('');
        }
      }
      const usage = (await ask('GET', '/console/v2/usage')).json();
      expect(usage).to.deep.nested.include({ 'links.used': 1, 'qrCodes.used': 0 });
    });

    it('spends no call with a GET: it gets 403 by Sec-Fetch-Site', async () => {
      const { Cookie, ask } = await session('FREE');
      const { api, admin } = bench.product;
      const message = 'Sec-Fetch-Site must be same-origin or none';
      const operating = cookieOf(await operator('maria'));
      for (const [listener, cookie, path] of [
        [api, Cookie, '/console/v2/links'],
        [admin, operating, '/console/admin/keys'],
      ] as const) {
        const headers = { Cookie: cookie, 'Sec-Fetch-Site': 'cross-site' };
        const error = { status: 403, message, path };
        expectError(await sendRequest(listener + path, { headers }), error);
      }
      const usage = await ask('GET', '/console/v2/usage');
      expect(usage.headers['x-ratelimit-remaining']).to.equal('59');
      for (const site of [{ 'Sec-Fetch-Site': 'same-origin' }, {}]) {
        const headers = { Cookie: operating, ...site };
        const response = await sendRequest(`${admin}/console/admin/platform`, { headers });
        expect(response.status).to.equal(200);
      }
      // Another site may link to the page.
      const headers = { 'Sec-Fetch-Site': 'cross-site' };
      expect((await sendRequest(`${api}/console`, { headers })).status).to.equal(200);
    });
  });

  describe('two session cookies', () => {
    const planted = 'x'.repeat(43);

    it('get 401 from every call of a session, and are both cleared', async () => {
      const { key, Cookie, ask } = await session();
      const operating = cookieOf(await operator('maria'));
      const { api, admin, adminToken } = bench.product;
      const calls = [
        [api, Cookie, 'POST', sessionPath, { key }],
        [api, Cookie, 'GET', '/console/v2/usage'],
        [api, Cookie, 'POST', '/console/v2/shorten', { url: destination }],
        [admin, operating, 'POST', sessionPath, { token: adminToken, actor: 'maria' }],
        [admin, operating, 'GET', '/console/admin/platform'],
      ] as const;
      const twice = {
        statusCode: 401,
        message: 'The request has two session cookies. Both are cleared: sign in again.',
        error: 'Unauthorized',
      };
      for (const [listener, own, method, path, body] of calls) {
        const [name = ''] = own.split('=');
        for (const cookies of [`${own}; ${name}=${planted}`, `${name}=${planted};${own}`]) {
          const headers = { Cookie: cookies };
          const response = await sendFromPage(listener, method, path, { headers, body });
          expectBody(response, 401, twice);
          for (const at of ['/', '/console', '/console/']) {
            const cleared = `${name}=; Path=${at}; Max-Age=0; HttpOnly; SameSite=Strict`;
            expect(response.headers['set-cookie']).to.include(cleared);
          }
        }
      }
      expect((await ask('GET', '/console/v2/usage')).status).to.equal(200);
    });
  });

  it('uses the origin that a trusted proxy forwards, and a Secure cookie', async () => {
    const { key } = await bench.key('PRO');
    const headers = {
      Origin: 'https://go.example.com',
      'X-Forwarded-Host': 'go.example.com',
      'X-Forwarded-Proto': 'https',
    };
    const proxied = await signIn({ key }, { headers });
    expect(proxied.status).to.equal(200);
    expect(setCookie(proxied)).to.match(/; SameSite=Strict; Secure$/);
    expect((await signIn({ key }, { headers, localAddress: untrusted })).status).to.equal(403);
    const plain = { ...headers, Origin: bench.product.api };
    expect((await signIn({ key }, { headers: plain })).status).to.equal(403);
  });

  it('sends its content security policy with every response, which forbids frames', async () => {
    for (const listener of [bench.product.api, bench.product.admin]) {
      for (const path of [
        ...['', '/', '/any/page', '/session', '/assets/x.js', '/v2/usage', '/admin/platform'],
      ]) {
        for (const method of ['GET', 'POST']) {
          const { headers } = await sendRequest(`${listener}/console${path}`, { method });
          expect(headers, `${method} ${path}`).to.include({
            'content-security-policy': policy,
            'referrer-policy': 'no-referrer',
            'x-content-type-options': 'nosniff',
          });
        }
      }
    }
  });
});
