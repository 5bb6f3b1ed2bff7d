import { expect } from 'chai';
import { openApiDocument } from '../../../command-api/http/openapi/document.js';
import type { Scope } from '../../../schemas/scopes.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { Document } from '../support/openapi.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  destination,
  expectBody,
  expectEnvelope,
  expectError,
  expectRefused,
  keyFixture,
  lacking,
  missingKey,
  sharedProduct,
} from './harness.js';

/** The operations under /v2 by the scope that they need. */
const operations: Readonly<Record<Scope, readonly string[]>> = {
  'links:create': ['POST /shorten', 'POST /shorten/batch'],
  'links:read': [
    ...['GET /links', 'GET /tags', 'GET /export', 'GET /links/{shortCode}'],
    ...['GET /links/{shortCode}/history', 'GET /domains', 'GET /domains/{domain}'],
  ],
  'links:write': ['PATCH /links/{shortCode}', 'DELETE /links/{shortCode}', 'POST /links/bulk'],
  'links:import': [
    ...['POST /imports', 'GET /imports', 'GET /imports/{id}', 'DELETE /imports/{id}'],
    'GET /imports/{id}/rows',
  ],
  'stats:read': ['GET /stats', 'GET /stats/{shortCode}'],
  'qr:read': ['GET /qr/{shortCode}'],
  'keys:manage': [
    ...['GET /keys', 'POST /keys', 'PATCH /keys/{id}', 'DELETE /keys/{id}'],
    'POST /keys/{id}/rotate',
  ],
  'domains:manage': [
    ...['POST /domains', 'PATCH /domains/{domain}', 'DELETE /domains/{domain}'],
    'POST /domains/{domain}/verify',
  ],
  'events:read': ['GET /events'],
  'webhooks:manage': [
    ...['GET /webhooks', 'POST /webhooks', 'GET /webhooks/{id}', 'PATCH /webhooks/{id}'],
    ...['DELETE /webhooks/{id}', 'POST /webhooks/{id}/rotate', 'POST /webhooks/{id}/test'],
    ...['GET /webhooks/{id}/deliveries', 'POST /webhooks/{id}/replay'],
    'POST /webhooks/{id}/deliveries/{deliveryId}/retry',
  ],
};

describe('responses of all listeners', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'responses' });
  let code: string;

  before(async () => {
    ({ shortCode: code } = await bench.link(pro.key));
  });

  const admin = (path: string, options: RequestOptions = {}): Promise<HttpResponse> =>
    sendRequest(bench.product.admin + path, {
      ...options,
      headers: { Authorization: `Bearer ${bench.product.adminToken}`, ...options.headers },
    });

  it('to HEAD are those to GET without the body', async () => {
    const { api, edge, admin: operators, adminToken } = bench.product;
    const key = { Authorization: `Bearer ${pro.key}` };
    const token = { Authorization: `Bearer ${adminToken}` };
    const html = { Accept: 'text/html' };
    const targets: readonly [string, Record<string, string>, readonly string[]][] = [
      [
        `${api}/v2`,
        key,
        ['/usage', `/stats/${code}`, `/qr/${code}`, '/stats/nothing0', '/nothing', '/export'],
      ],
      [api, {}, ['/v2/usage', '/nothing', '/health', '/openapi.json', '/docs']],
      [edge, {}, ['', 'nothing0', code, `${code}+`, 'robots.txt', 'health'].map((at) => `/${at}`)],
      [edge, html, ['/nothing0']],
      [
        operators,
        token,
        ['/admin/keys', '/admin/platform', `/admin/links/${code}/history`, '/health'],
      ],
      [operators, {}, ['/admin/keys']],
    ];
    for (const [origin, headers, paths] of targets) {
      for (const path of paths) {
        const get = await sendRequest(origin + path, { headers });
        const head = await sendRequest(origin + path, { method: 'HEAD', headers });
        expect([head.status, head.text], path).to.deep.equal([get.status, '']);
        for (const name of ['content-type', 'cache-control', 'location', 'www-authenticate']) {
          expect(head.headers[name], `${name} of ${path}`).to.equal(get.headers[name]);
        }
      }
    }
  });

  it('to a method that a path does not have are 405 with the allowed methods', async () => {
    for (const [path, allow] of [
      ['/v2/shorten', 'POST'],
      ['/v2/shorten/batch', 'POST'],
      ['/v2/usage', 'GET, HEAD'],
      [`/v2/stats/${code}`, 'GET, HEAD'],
      [`/v2/qr/${code}`, 'GET, HEAD'],
      ['/admin/keys', 'GET, HEAD, POST'],
      ['/admin/keys/an-id', 'DELETE, GET, HEAD, PATCH'],
      ['/admin/platform', 'GET, HEAD, PATCH'],
      ['/admin/reserved-aliases/admin/override', 'DELETE, PUT'],
      [`/admin/links/${code}/block`, 'POST'],
      [`/admin/links/${code}/history`, 'GET, HEAD'],
    ] as const) {
      const methods = ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
      for (const method of methods.filter((name) => !allow.includes(name))) {
        const response = path.startsWith('/v2')
          ? await bench.api(path, pro.key, { method })
          : await admin(path, { method });
        const allowed = response.headers.allow?.split(', ').sort().join(', ');
        expect([response.status, allowed], `${method} ${path}`).to.deep.equal([405, allow]);
        if (method === 'HEAD') continue;
        expectError(response, { status: 405, message: 'Method Not Allowed', path, method });
      }
    }
  });

  describe('of each operation under /v2', () => {
    const send = (operation: string, key: string | null): Promise<HttpResponse> => {
      const [method = '', path = ''] = operation.split(' ');
      const body = ['POST', 'PATCH'].includes(method) ? { body: {} } : {};
      return bench.api(`/v2${path.replaceAll(/\{\w+\}/g, 'an-id')}`, key, { method, ...body });
    };
    const operationList = Object.values(operations).flat();

    it('are checked here', () => {
      const documented = Object.entries(openApiDocument().paths).flatMap(([path, item]) =>
        Object.keys(item)
          .filter((name) => ['get', 'post', 'patch', 'delete'].includes(name))
          .map((method) => `${method.toUpperCase()} ${path.replace(/^\/v2/, '')}`),
      );
      const others = ['GET /usage', 'GET /health', 'GET /health/ready'];
      expect(documented).to.have.members([...operationList, ...others]);
    });

    it('are 401 without a key, and 403 without its scope', async () => {
      const { key } = await bench.key('PRO', { account: 'responses', scopes: [] });
      for (const [scope, needing] of Object.entries(operations)) {
        for (const operation of needing) {
          expectBody(await send(operation, null), 401, missingKey);
          expectBody(await send(operation, key), 403, lacking(scope as Scope));
        }
      }
    });

    it('are 503 during maintenance, with and without a key', async () => {
      await bench.admin('PATCH', '/admin/platform', { maintenance: true });
      try {
        await eventuallyPasses(async () => {
          expect((await send('GET /usage', pro.key)).status).to.equal(503);
        });
        for (const operation of operationList) {
          for (const key of [pro.key, null]) {
            expect((await send(operation, key)).status, operation).to.equal(503);
          }
        }
        for (const path of ['/health', '/health/ready']) {
          expect((await bench.api(path, null)).status).to.equal(200);
        }
      } finally {
        await bench.admin('PATCH', '/admin/platform', { maintenance: false });
      }
      await eventuallyPasses(async () => {
        expect((await send('GET /usage', pro.key)).status).to.equal(200);
      });
    });
  });

  it('with an error have the requested path, unchanged, without the query', async () => {
    for (const path of ['/v2/stats/%6eothing', '/v2/stats/%E0%A4%A', '/v2/stats/a%2Fb', '/v2/']) {
      const message = path.includes('/stats/') ? 'Short URL not found' : 'Not Found';
      const response = await bench.api(`${path}?key=secret&x=/y`, pro.key);
      expectError(response, { status: 404, message, path });
    }
    const refused = await bench.api('/v2/shorten?dry=run', pro.key, { method: 'POST', body: {} });
    expectRefused(refused, 400, 'Please provide a valid URL');
    const path = '/admin/keys/nothing';
    const nothing = await admin(`${path}?x=1`);
    expectError(nothing, { status: 404, message: 'API key not found', path });
  });

  it('are the same for a percent-encoded code', async () => {
    const { shortCode } = await bench.link(pro.key, { alias: 'responses_1' });
    const encoded = 'responses%5F1';
    expect((await bench.stats(encoded, pro.key)).shortCode).to.equal(shortCode);
    expect((await bench.api(`/v2/qr/${encoded}`, pro.key)).status).to.equal(200);
    expect((await bench.visit(encoded)).headers.location).to.equal(destination);
  });

  it('do not depend on Accept-Language', async () => {
    const pages = ['de', 'ja;q=0.9, *;q=0.1', ''].map(async (language) => {
      const headers = { Accept: 'text/html', 'Accept-Language': language };
      return (await bench.visit('nothing0', { headers })).text;
    });
    expect(new Set(await Promise.all(pages)).size).to.equal(1);
  });

  describe('of GET /openapi.json', () => {
    const documents = ['/openapi.json', '/docs', '/asyncapi.json', '/docs/events'];

    it('need no key, and have an ETag', async () => {
      const response = await bench.api('/openapi.json', null);
      expect(response.headers).to.include({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      });
      expect(response.json()).to.include({ openapi: '3.1.1' });
      const { etag = '' } = response.headers;
      const again = await bench.api('/openapi.json', null, { headers: { 'If-None-Match': etag } });
      expect([again.status, again.text, again.headers.etag]).to.deep.equal([304, '', etag]);
      const head = await bench.api('/openapi.json', null, { method: 'HEAD' });
      expect(Number(head.headers['content-length'])).to.be.above(10_000);
    });

    it('are only on the listener of the API, for GET and HEAD, like other documents', async () => {
      for (const path of documents) {
        const refused = await bench.api(path, null, { method: 'POST' });
        const message = 'Method Not Allowed';
        expectEnvelope(refused, { status: 405, message, path, method: 'POST' });
        expect(refused.headers).to.include({ allow: 'GET, HEAD', 'cache-control': 'no-store' });
        expect((await sendRequest(bench.product.admin + path)).status, path).to.equal(404);
        // Other files create an alias `docs`, which an operator allows.
        if (path === '/docs') continue;
        expect((await sendRequest(bench.product.edge + path)).status, path).to.equal(404);
      }
    });

    it('have examples that match their schemas', async () => {
      const document = new Document((await bench.api('/openapi.json', null)).text);
      expect(document.expectExamplesToHold()).to.be.above(20);
    });
  });
});
