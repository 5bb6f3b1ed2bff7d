import { expect } from 'chai';
import { safeBrowsingFixture } from '../support/fixtures.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import {
  keyFixture,
  productFixture,
  destination,
  expectEnvelope,
  expectError,
  expectRefused,
  invalidKey,
  monthly,
  expectBody,
} from './harness.js';
import { withLedger } from '../support/ledger-events.js';
import { eventuallyPasses } from '../support/waiting.js';

const rateHeaders = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-api-key-name',
] as const;

const upgradeUrl = 'https://pay.example/plans?from=linklog';

describe('product: properties of all responses', () => {
  const double = safeBrowsingFixture();
  const bench = productFixture(() => ({
    SAFE_BROWSING_API_KEY: 'a-key',
    SAFE_BROWSING_URL: double.url,
    UPGRADE_URL: upgradeUrl,
  }));
  const pro = keyFixture(bench, 'PRO');
  let code: string;

  before(async () => {
    code = (await bench.link(pro.key)).shortCode;
  });

  const post = (body: unknown, headers: Record<string, string> = {}): RequestOptions => ({
    method: 'POST',
    body,
    headers,
  });

  const admin = (path: string, options: RequestOptions = {}): Promise<HttpResponse> =>
    sendRequest(bench.product.admin + path, {
      ...options,
      headers: { Authorization: `Bearer ${bench.product.adminToken}`, ...options.headers },
    });

  describe('rate-limit headers', () => {
    const expectStatus = (response: HttpResponse, status: number): void => {
      expect(response.status, response.text).to.equal(status);
      expect(response.headers).to.include.all.keys(...rateHeaders);
      expect(response.headers['x-ratelimit-limit']).to.equal('5000');
    };

    it('are in 200 with an image, and in 304', async () => {
      const image = await bench.api(`/v2/qr/${code}`, pro.key);
      expectStatus(image, 200);
      const headers = { 'If-None-Match': image.headers.etag ?? '' };
      expectStatus(await bench.api(`/v2/qr/${code}`, pro.key, { headers }), 304);
    });

    it('are in 200 of a batch and of statistics', async () => {
      const urls = [{ url: destination }];
      expectStatus(await bench.api('/v2/shorten/batch', pro.key, post({ urls })), 200);
      expectStatus(await bench.api(`/v2/stats/${code}`, pro.key), 200);
    });

    it('are in 410', async () => {
      const { shortCode } = await bench.link(pro.key);
      await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'spam' });
      await eventuallyPasses(async () => {
        expectStatus(await bench.api(`/v2/qr/${shortCode}`, pro.key), 410);
      });
    });

    it('are in 409 and 422, and in a replay', async () => {
      const request = post({ url: 'https://slowly.example/' }, { 'Idempotency-Key': 'common' });
      double.delayMs = 1_000;
      const first = bench.api('/v2/shorten', pro.key, request);
      await eventuallyPasses(() => {
        expect(double.urls().flat()).to.include('https://slowly.example/');
        return Promise.resolve();
      });
      expectStatus(await bench.api('/v2/shorten', pro.key, request), 409);
      double.delayMs = 0;
      expectStatus(await first, 201);
      const other = post({ url: destination }, { 'Idempotency-Key': 'common' });
      expectStatus(await bench.api('/v2/shorten', pro.key, other), 422);
      expectStatus(await bench.api('/v2/shorten', pro.key, request), 201);
    });

    it('are in 503', async () => {
      double.behaviour = 'fail';
      const response = await bench.shorten(pro.key, { url: 'https://unknown.example/' });
      double.behaviour = 'answer';
      expectStatus(response, 503);
      expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
    });
  });

  it('a 403 and a monthly 429 contain the configured UPGRADE_URL', async () => {
    const { key } = await bench.key('FREE');
    const gated = await bench.shorten(key, { url: destination, alias: 'not-on-free' });
    expect([gated.status, gated.json()]).to.deep.equal([
      403,
      {
        statusCode: 403,
        message: 'Custom aliases require the HOBBY plan or higher.',
        error: 'Forbidden',
        feature: 'customAlias',
        currentPlan: 'FREE',
        upgradeUrl,
      },
    ]);
    for (let link = 0; link < 35; link += 1) await bench.link(key);
    const response = await bench.shorten(key, { url: destination });
    expectBody(response, 429, { ...monthly('Monthly link limit reached.', 35), upgradeUrl });
  });

  it('HEAD gets the response of GET without the body', async () => {
    const { api, edge, admin: operators } = bench.product;
    const key = { Authorization: `Bearer ${pro.key}` };
    const token = { Authorization: `Bearer ${bench.product.adminToken}` };
    const targets: readonly [string, Record<string, string>][] = [
      [`${api}/v2/usage`, key],
      [`${api}/v2/stats/${code}`, key],
      [`${api}/v2/qr/${code}`, key],
      [`${api}/v2/stats/nothing0`, key],
      [`${api}/v2/usage`, {}],
      [`${api}/v2/nothing`, key],
      [`${api}/nothing`, {}],
      [`${api}/health`, {}],
      [`${api}/health/ready`, {}],
      [`${edge}/${code}`, {}],
      [`${edge}/${code}+`, {}],
      [`${edge}/nothing0`, {}],
      [`${edge}/nothing0`, { Accept: 'text/html' }],
      [`${edge}/`, {}],
      [`${edge}/robots.txt`, {}],
      [`${edge}/favicon.ico`, {}],
      [`${edge}/health`, {}],
      [`${edge}/health/ready`, {}],
      [`${operators}/admin/keys`, token],
      [`${operators}/admin/platform`, token],
      [`${operators}/admin/links/${code}/history`, token],
      [`${operators}/admin/keys`, {}],
      [`${operators}/health`, {}],
    ];
    for (const [url, headers] of targets) {
      const get = await sendRequest(url, { headers });
      const head = await sendRequest(url, { method: 'HEAD', headers });
      expect([head.status, head.text], url).to.deep.equal([get.status, '']);
      for (const name of ['content-type', 'cache-control', 'location', 'www-authenticate']) {
        expect(head.headers[name], `${name} of ${url}`).to.equal(get.headers[name]);
      }
    }
    const posts = ['/v2/shorten', '/v2/shorten/batch'];
    for (const path of posts) {
      const head = await bench.api(path, pro.key, { method: 'HEAD' });
      expect([head.status, head.headers.allow]).to.deep.equal([405, 'POST']);
    }
  });

  it('405 names the allowed methods, on every path', async () => {
    const allowed: readonly [string, readonly string[]][] = [
      ['/v2/shorten', ['POST']],
      ['/v2/shorten/batch', ['POST']],
      ['/v2/usage', ['GET', 'HEAD']],
      [`/v2/stats/${code}`, ['GET', 'HEAD']],
      [`/v2/qr/${code}`, ['GET', 'HEAD']],
    ];
    const operators: readonly [string, readonly string[]][] = [
      ['/admin/keys', ['GET', 'HEAD', 'POST']],
      ['/admin/keys/an-id', ['DELETE', 'GET', 'HEAD', 'PATCH']],
      ['/admin/platform', ['GET', 'HEAD', 'PATCH']],
      ['/admin/reserved-aliases/admin/override', ['DELETE', 'PUT']],
      [`/admin/links/${code}/block`, ['POST']],
      [`/admin/links/${code}/unblock`, ['POST']],
      [`/admin/links/${code}/history`, ['GET', 'HEAD']],
    ];
    const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
    for (const [path, allow] of [...allowed, ...operators]) {
      const request = path.startsWith('/v2')
        ? (method: string) => bench.api(path, pro.key, { method })
        : (method: string) => admin(path, { method });
      for (const method of methods.filter((name) => !allow.includes(name))) {
        const response = await request(method);
        expectError(response, { status: 405, message: 'Method Not Allowed', path, method });
        expect(response.headers.allow?.split(', ').sort(), `${method} ${path}`).to.deep.equal(
          allow,
        );
      }
    }
  });

  it('an error’s path is the requested one, unchanged, without the query', async () => {
    const paths = ['/v2/stats/%6eothing', '/v2/stats/%E0%A4%A', '/v2/stats/a%2Fb', '/v2/%75sage'];
    for (const path of paths) {
      const message = path.includes('/stats/') ? 'Short URL not found' : 'Not Found';
      const response = await bench.api(`${path}?key=secret&x=/y`, pro.key);
      expectError(response, { status: 404, message, path });
    }
    const refused = await bench.api('/v2/shorten?dry=run', pro.key, post({}));
    expectRefused(refused, 400, 'Please provide a valid URL');
    const nothing = await admin('/admin/keys/nothing?x=1');
    expectError(nothing, {
      status: 404,
      message: 'API key not found',
      path: '/admin/keys/nothing',
    });
  });

  it('a code may be percent-encoded', async () => {
    const { shortCode } = await bench.link(pro.key, { alias: 'an_alias-1' });
    const encoded = '%61n%5Falias%2D1';
    expect((await bench.stats(encoded, pro.key)).shortCode).to.equal(shortCode);
    expect((await bench.api(`/v2/qr/${encoded}`, pro.key)).status).to.equal(200);
    expect((await bench.visit(encoded)).headers.location).to.equal(destination);
  });

  it('responses have no CORS headers without CORS_ORIGINS, and preflight requests get 403', async () => {
    const headers = { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'POST' };
    const preflight = await bench.api('/v2/shorten', null, { method: 'OPTIONS', headers });
    expect(preflight.status).to.equal(403);
    for (const response of [preflight, await bench.api('/v2/usage', pro.key, { headers })]) {
      const names = Object.keys(response.headers);
      expect(names.filter((name) => /^(access-control-|vary$)/.test(name))).to.deep.equal([]);
    }
  });

  it('no response depends on Accept-Language', async () => {
    const { text } = await bench.visit('nothing0', { headers: { Accept: 'text/html' } });
    for (const language of ['de', 'ja;q=0.9, *;q=0.1', 'xx-nonsense', '']) {
      const languages = { 'Accept-Language': language };
      const page = await bench.visit('nothing0', {
        headers: { Accept: 'text/html', ...languages },
      });
      expect(page.text).to.equal(text);
      const response = await bench.shorten(pro.key, {}, languages);
      expectRefused(response, 400, 'Please provide a valid URL');
      const usage = await bench.api('/v2/usage', 'no-key', { headers: languages });
      expectBody(usage, 401, invalidKey);
    }
  });

  describe('at an internal error', () => {
    /** Runs `work` while each statement on a table fails. A missing table would be that of another generation. */
    const withBrokenTable = (schema: string, table: string, work: () => Promise<void>) =>
      withLedger(bench.product, async (client) => {
        const away = `${table}_away`;
        await client.query(
          `ALTER TABLE ${schema}.${table} RENAME TO ${away};
           CREATE VIEW ${schema}.${table} AS SELECT * FROM ${schema}.${away} WHERE 1 / 0 = 0
             WITH CHECK OPTION`,
        );
        try {
          await work();
        } finally {
          await client.query(
            `DROP VIEW ${schema}.${table}; ALTER TABLE ${schema}.${away} RENAME TO ${table}`,
          );
        }
      });
    const message = 'Internal server error';

    it('the API returns only Internal server error, and the log has the request id', async () => {
      await withBrokenTable('ledger', 'links', async () => {
        const response = await bench.shorten(
          pro.key,
          { url: destination },
          { 'X-Request-Id': 'broken-1' },
        );
        expectRefused(response, 500, message);
        expect(response.headers).to.include.all.keys(...rateHeaders);
        expect(response.headers['x-request-id']).to.equal('broken-1');
      });
      expect((await bench.shorten(pro.key, { url: destination })).status).to.equal(201);
      await eventuallyPasses(() => {
        const lines = bench.product.stderr().split('\n');
        expect(lines.find((line) => line.includes('broken-1'))).to.include('division by zero');
      });
    });

    it('the edge returns the same after a failed look-up', async () => {
      await withBrokenTable('projection_redirects', 'links', async () => {
        const response = await bench.visit('unseen00');
        expectEnvelope(response, { status: 500, message, path: '/unseen00' });
        expect(response.headers['cache-control']).to.equal('no-store');
      });
      expect((await bench.visit('unseen00')).status).to.equal(404);
    });

    it('the admin listener returns the same', async () => {
      await withBrokenTable('ledger', 'api_keys', async () => {
        const response = await admin('/admin/keys');
        expectError(response, { status: 500, message, path: '/admin/keys' });
      });
    });
  });
});
