import { expect } from 'chai';
import { messages } from '../../../schemas/http/errors.js';
import { dnsServerFixture } from '../support/dns-server.js';
import { sendRequest } from '../support/http.js';
import { receiverFixture } from '../support/receiver.js';
import { domainCalls } from './domains-harness.js';
import { expectEnvelope, keyFixture, productFixture } from './harness.js';
import { webhookCalls } from './webhooks-harness.js';

const toNotFound = 'https://example.com/default?not=found';
const toExpired = 'https://example.com/default-expired';
const html = { Accept: 'text/html' };

// One product for the settings that the shared product has not: it has a console, other CORS origins, no public host,
// and webhooks to loopback.
describe('product: with other settings', () => {
  const dns = dnsServerFixture();
  const receiver = receiverFixture();
  const bench = productFixture(() => ({
    CONSOLE: '0',
    CORS_ORIGINS: '*',
    DNS_SERVERS: dns.address,
    SHORT_URL_HOST: 'https://short.own.example',
    OWN_HOSTS: 'go.own.example:8443,www.own.example',
    ADMIN_HOSTS: 'admin.own.example',
    NOT_FOUND_REDIRECT: toNotFound,
    EXPIRED_REDIRECT: toExpired,
  }));
  const calls = domainCalls(bench, dns);
  const webhooks = webhookCalls(bench);
  const pro = keyFixture(bench, 'PRO');

  it('has no console with CONSOLE=0, and no address or link of it', async () => {
    const { api, admin, ready } = bench.product;
    for (const listener of [api, admin]) {
      for (const path of ['', '/session', '/v2/usage', '/admin/platform']) {
        for (const method of ['GET', 'POST']) {
          const options = { method, headers: { Origin: listener } };
          const response = await sendRequest(`${listener}/console${path}`, options);
          const error = { status: 404, message: 'Not Found', path: `/console${path}`, method };
          expectEnvelope(response, error);
        }
      }
    }
    for (const path of ['/docs', '/docs/events']) {
      const page = await sendRequest(api + path);
      expect(page.text, path)
        .to.include('asyncapi.json')
        .but.not.match(/href="[^"]*console|data-address/);
    }
    expect(ready).to.have.property('firstKey');
    expect(ready).not.to.have.property('console');
    expect((await bench.admin('POST', '/admin/console', {})).status).to.equal(404);
  });

  it('allows any origin with CORS_ORIGINS=*, without Vary', async () => {
    const headers = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' };
    const url = `${bench.product.api}/v2/shorten`;
    const preflight = await sendRequest(url, { method: 'OPTIONS', headers });
    expect(preflight.status).to.equal(204);
    for (const response of [preflight, await bench.api('/v2/usage', null, { headers })]) {
      expect(response.headers).to.include({ 'access-control-allow-origin': '*' });
      expect(response.headers).not.to.have.property('vary');
    }
  });

  describe('of its hosts', () => {
    it('has short URLs of SHORT_URL_HOST, and of domains with its scheme', async () => {
      const domain = await calls.activate(pro.key);
      for (const [body, host] of [
        [{}, 'short.own.example'],
        [{ domain }, domain],
      ] as const) {
        const { shortUrl, shortCode } = await bench.link(pro.key, body);
        expect(shortUrl).to.equal(`https://${host}/${shortCode}`);
      }
      for (const admin of bench.product.admins) {
        for (const [name, status] of [
          ['SHORT.own.example', 200],
          ['localhost', 404],
        ] as const) {
          const response = await sendRequest(`${admin}/tls/ask?domain=${name}`);
          expect(response.status, name).to.equal(status);
        }
      }
    });

    it('rejects claims of the own hosts, and links to them', async () => {
      const domain = await calls.activate(pro.key);
      for (const name of [
        ...['SHORT.OWN.EXAMPLE.', 'go.own.example', 'www.own.example', 'admin.own.example'],
      ]) {
        expect((await calls.claim(pro.key, name)).status, name).to.equal(400);
        expect((await calls.add(name, pro.account)).status, name).to.equal(400);
      }
      for (const url of ['https://short.own.example/a', 'https://go.own.example:8443/a']) {
        const response = await calls.change(pro.key, domain, { rootRedirect: url });
        expect(response.json()).to.include({ statusCode: 400, reason: 'ownHost' });
      }
      const body = { url: 'https://example.com', domain: 'short.own.example' };
      expect((await bench.shorten(pro.key, body)).status).to.equal(400);
    });

    it('redirects browsers on the default domain by NOT_FOUND_REDIRECT and EXPIRED_REDIRECT', async () => {
      const domain = await calls.activate(pro.key);
      const used = await bench.link(pro.key, { maxClicks: 1 });
      const blocked = await bench.link(pro.key);
      expect((await bench.visit(used.shortCode)).status).to.equal(302);
      const reason = { reason: 'phishing' };
      await bench.admin('POST', `/admin/links/${blocked.shortCode}/block`, reason);
      await calls.onEveryEdge(async (edge) => {
        for (const [host, path, status, location] of [
          ['localhost', 'unknown-code', 302, toNotFound],
          ['short.own.example', used.shortCode, 302, toExpired],
          ['localhost', blocked.shortCode, 410, undefined],
          // An own domain has none of them.
          [domain, 'unknown-code', 404, undefined],
        ] as const) {
          const visit = await calls.visit(host, path, { headers: html }, edge);
          expect([visit.status, visit.headers.location]).to.deep.equal([status, location]);
        }
        expect((await calls.visit('localhost', 'unknown-code', {}, edge)).status).to.equal(404);
      });
    });
  });

  describe('without WEBHOOK_NETWORKS', () => {
    it('accepts webhooks for public addresses by https only', async () => {
      for (const url of [receiver.hook().url, 'https://127.0.0.1', 'http://8.8.8.8']) {
        const response = await webhooks.send(pro, 'POST', '', { url });
        expect(response.json(), url).to.include({
          ...{ statusCode: 400, message: messages.webhookUrlRefused },
        });
      }
      // The second name is of Unicode 16; Node 20 has Unicode 15.
      for (const url of ['https://8.8.8.8', 'https://\ua7cb.example']) {
        await webhooks.create(pro, { url, types: ['LinkBlocked'] });
      }
    });
  });
});
