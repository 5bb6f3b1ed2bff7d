import { expect } from 'chai';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { productFixture, type Bench } from './harness.js';

const origin = 'https://app.example.com';
const other = 'https://app.example.com.evil.example';
const exposed = [
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-API-Key-Name'],
  ...['ETag', 'Retry-After', 'Linklog-Ignored-Fields'],
];

const preflight = (
  base: string,
  path: string,
  from: string,
  method = 'POST',
): Promise<HttpResponse> =>
  sendRequest(base + path, {
    method: 'OPTIONS',
    headers: {
      Origin: from,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': 'authorization,content-type',
    },
  });

const corsHeaders = ({ headers }: HttpResponse): readonly string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const list = (value: string | undefined): readonly string[] => (value ?? '').split(', ');

const call = (
  bench: Bench,
  from: string,
  path = '/v2/usage',
  key?: string,
): Promise<HttpResponse> => bench.api(path, key ?? null, { headers: { Origin: from } });

describe('command API: CORS', () => {
  describe('with a list of origins', () => {
    const bench = productFixture({ CORS_ORIGINS: `${origin}, HTTP://localhost:3000` });

    it('responds with 204 to a preflight request from an allowed origin', async () => {
      for (const from of [origin, 'http://localhost:3000']) {
        for (const path of ['/v2/shorten', '/v2/links/some-code', '/v2/unknown', '/v2']) {
          const response = await preflight(bench.product.api, path, from);
          expect(response.status, path).to.equal(204);
          expect(response.text).to.equal('');
          expect(response.headers).to.include({
            'access-control-allow-origin': from,
            'access-control-max-age': '7200',
            vary: 'Origin',
          });
          expect(list(response.headers['access-control-allow-methods'])).to.include.members([
            ...['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
          ]);
          expect(list(response.headers['access-control-allow-headers'])).to.include.members([
            ...['Authorization', 'Content-Type', 'Idempotency-Key', 'If-Match', 'If-None-Match'],
            'X-Request-Id',
          ]);
          expect(response.headers).not.to.have.property('access-control-allow-credentials');
        }
      }
    });

    it('rejects every other preflight request with 403, without CORS headers', async () => {
      const { api, admin } = bench.product;
      for (const [base, path, from] of [
        [api, '/v2/shorten', other],
        [api, '/v2/shorten', 'http://app.example.com'],
        [api, '/v2/shorten', `${origin}:8443`],
        [api, '/v2/shorten', 'null'],
        [api, '/openapi.json', origin],
        [api, '/v2x', origin],
        [api, '/console/v2/links', origin],
        [api, '/console/session', origin],
        [admin, '/admin/keys', origin],
        [admin, '/v2/shorten', origin],
        [admin, '/console/admin/keys', origin],
      ] as const) {
        const response = await preflight(base, path, from);
        expect(response.status, `${path} from ${from}`).to.equal(403);
        expect(corsHeaders(response), path).to.deep.equal([]);
      }
    });

    it('lets an allowed origin read every response of /v2, errors included', async () => {
      const { key } = await bench.key('PRO');
      const link = await bench.link(key);
      for (const [path, status, own] of [
        ['/v2/usage', 200, key],
        ['/v2/usage', 401, undefined],
        [`/v2/qr/${link.shortCode}`, 200, key],
        [`/v2/qr/${link.shortCode}?size=1`, 400, key],
        ['/v2/unknown', 404, key],
      ] as const) {
        const response = await call(bench, origin, path, own);
        expect(response.status, path).to.equal(status);
        expect(response.headers, path).to.include({
          'access-control-allow-origin': origin,
        });
        expect(response.headers.vary, path).to.match(/^Origin\b/);
        const names = list(response.headers['access-control-expose-headers']);
        expect(names, path).to.include.members(exposed);
      }
    });

    it('sends no CORS headers to another origin, or for another path', async () => {
      const { key } = await bench.key('PRO');
      const response = await call(bench, other, '/v2/usage', key);
      expect(response.status).to.equal(200);
      expect(corsHeaders(response)).to.deep.equal([]);
      // A cache must not serve this response to the allowed origin.
      expect(response.headers.vary).to.equal('Origin');
      const { api, admin, adminToken } = bench.product;
      const headers = { Origin: origin, Authorization: `Bearer ${adminToken}` };
      for (const url of [
        `${api}/openapi.json`,
        `${api}/health`,
        `${api}/console/v2/usage`,
        `${api}/console/session`,
        `${admin}/admin/keys`,
        `${admin}/console/admin/keys`,
      ]) {
        expect(corsHeaders(await sendRequest(url, { headers })), url).to.deep.equal([]);
      }
    });

    it('requires Access-Control-Request-Method for a preflight request', async () => {
      const response = await sendRequest(`${bench.product.api}/v2/shorten`, {
        method: 'OPTIONS',
        headers: { Origin: origin },
      });
      expect(response.status).to.equal(401);
      expect(response.headers).to.include({ 'access-control-allow-origin': origin });
    });
  });

  describe('with every origin', () => {
    const bench = productFixture({ CORS_ORIGINS: '*' });

    it('allows any origin, without Vary', async () => {
      const preflightResponse = await preflight(bench.product.api, '/v2/shorten', other);
      expect(preflightResponse.status).to.equal(204);
      for (const response of [preflightResponse, await call(bench, other)]) {
        expect(response.headers).to.include({ 'access-control-allow-origin': '*' });
        expect(response.headers).not.to.have.property('vary');
      }
    });
  });
});
