import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { asyncApiDocument } from '../../../command-api/http/asyncapi/document.js';
import { openApiDocument } from '../../../command-api/http/openapi/document.js';
import type { Scope } from '../../../schemas/scopes.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { Document } from '../support/openapi.js';
import {
  expectBody,
  expectEnvelope,
  expectError,
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
    ...['GET /links/{shortCode}/share', 'GET /utm-templates'],
  ],
  'links:write': [
    ...['PATCH /links/{shortCode}', 'DELETE /links/{shortCode}', 'POST /links/bulk'],
    ...['POST /links/{shortCode}/restore'],
    ...['POST /links/{shortCode}/share', 'DELETE /links/{shortCode}/share/{id}'],
    ...['POST /links/{shortCode}/codes', 'DELETE /links/{shortCode}/codes/{code}'],
    ...['PUT /utm-templates/{name}', 'DELETE /utm-templates/{name}'],
  ],
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
  'people:read': ['GET /people'],
  'people:manage': [
    ...['PATCH /people/{id}', 'DELETE /people/{id}', 'POST /people/invitations'],
    ...['GET /people/invitations', 'GET /people/invitations/{id}'],
    'DELETE /people/invitations/{id}',
  ],
  'webhooks:manage': [
    ...['GET /webhooks', 'POST /webhooks', 'GET /webhooks/{id}', 'PATCH /webhooks/{id}'],
    ...['DELETE /webhooks/{id}', 'POST /webhooks/{id}/rotate', 'POST /webhooks/{id}/test'],
    ...['GET /webhooks/{id}/deliveries', 'POST /webhooks/{id}/replay'],
    'GET /webhooks/{id}/deliveries/{deliveryId}',
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
    const targets: readonly [string, Record<string, string>, readonly string[]][] = [
      [`${api}/v2`, key, ['/usage', `/stats/${code}`, `/qr/${code}`, '/nothing', '/export']],
      [api, {}, ['/v2/usage', '/health', '/openapi.json', '/docs']],
      [edge, {}, ['/', `/${code}`, `/${code}+`, '/robots.txt']],
      [edge, { Accept: 'text/html' }, ['/nothing0']],
      [operators, token, ['/admin/keys', `/admin/links/${code}/history`]],
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
    for (const [path, method, allow] of [
      ['/v2/shorten', 'GET', 'POST'],
      [`/v2/stats/${code}`, 'POST', 'GET, HEAD'],
      // Not a short code.
      ['/v2/links/bulk', 'DELETE', 'POST'],
      ['/admin/keys/an-id', 'PUT', 'DELETE, GET, HEAD, PATCH'],
      ['/admin/reserved-aliases/admin/override', 'GET', 'DELETE, PUT'],
    ] as const) {
      const response = path.startsWith('/v2')
        ? await bench.api(path, pro.key, { method })
        : await admin(path, { method });
      const allowed = response.headers.allow?.split(', ').sort().join(', ');
      expect(allowed, `${method} ${path}`).to.equal(allow);
      expectError(response, { status: 405, message: 'Method Not Allowed', path, method });
    }
  });

  describe('of each operation under /v2', () => {
    const send = (operation: string, key: string | null): Promise<HttpResponse> => {
      const [method = '', path = ''] = operation.split(' ');
      const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: {} } : {};
      return bench.api(`/v2${path.replaceAll(/\{\w+\}/g, 'an-id')}`, key, { method, ...body });
    };
    const operationList = Object.values(operations).flat();

    it('are checked here', () => {
      const documented = Object.entries(openApiDocument().paths).flatMap(([path, item]) =>
        Object.keys(item)
          .filter((name) => ['get', 'post', 'put', 'patch', 'delete'].includes(name))
          .map((method) => `${method.toUpperCase()} ${path.replace(/^\/v2/, '')}`),
      );
      const others = ['GET /usage', 'GET /me', 'GET /health', 'GET /health/ready'];
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
  });

  it('with an error have the requested path, unchanged, without the query', async () => {
    for (const path of ['/v2/stats/%6eothing', '/v2/stats/%E0%A4%A', '/v2/stats/a%2Fb']) {
      const response = await bench.api(`${path}?key=secret&x=/y`, pro.key);
      expectError(response, { status: 404, message: 'Short URL not found', path });
    }
    const path = '/admin/keys/nothing';
    const nothing = await admin(`${path}?x=1`);
    expectError(nothing, { status: 404, message: 'API key not found', path });
  });

  describe('of GET /openapi.json', () => {
    const documents = ['/openapi.json', '/docs', '/asyncapi.json', '/docs/events'];

    it('need no key, and have an ETag, like GET /asyncapi.json', async () => {
      for (const [path, text] of [
        ['/openapi.json', '"openapi":"3.1.1"'],
        ['/asyncapi.json', JSON.stringify(asyncApiDocument())],
      ] as const) {
        const response = await bench.api(path, null);
        expect(response.headers).to.include({
          ...{ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
        });
        expect(response.text).to.include(text);
        const { etag = '' } = response.headers;
        const again = await bench.api(path, null, { headers: { 'If-None-Match': etag } });
        expect([again.status, again.text, again.headers.etag]).to.deep.equal([304, '', etag]);
      }
    });

    it('are compressed for clients that accept gzip', async () => {
      for (const path of [...documents, '/docs/swagger-ui-bundle.js']) {
        const plain = await bench.api(path, null);
        const headers = { 'Accept-Encoding': 'gzip' };
        const compressed = await bench.api(path, null, { headers });
        expect(compressed.headers, path).to.include({
          ...{ 'content-encoding': 'gzip', vary: 'Accept-Encoding', etag: plain.headers.etag },
        });
        expect(gunzipSync(compressed.bytes).equals(plain.bytes), path).to.equal(true);
      }
    });

    it('have pages with a content security policy without foreign origins or inline code', async () => {
      for (const path of ['/docs', '/docs/events']) {
        const response = await bench.api(path, null);
        const policy = response.headers['content-security-policy'] ?? '';
        expect(policy).to.match(/default-src 'none'.*script-src 'self';/);
        expect(policy).not.to.match(/unsafe|https?:|\*/);
        expect(response.text).not.to.match(/<script>|<style|style=/);
      }
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
