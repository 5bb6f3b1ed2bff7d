import { expect } from 'chai';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { allowedOrigin, sharedProduct } from './harness.js';

// CORS_ORIGINS=* is in settings.e2e.spec.ts.

const other = `${allowedOrigin}.evil.example`;
const exposed = [
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-API-Key-Name'],
  ...['ETag', 'Retry-After', 'Linklog-Ignored-Fields'],
];

const corsHeaders = ({ headers }: HttpResponse): readonly string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));
const list = (value: string | undefined): readonly string[] => (value ?? '').split(', ');

describe('command API: CORS', () => {
  const bench = sharedProduct();

  const preflight = (url: string, Origin: string): Promise<HttpResponse> =>
    sendRequest(url, {
      method: 'OPTIONS',
      headers: {
        ...{ Origin, 'Access-Control-Request-Method': 'POST' },
        'Access-Control-Request-Headers': 'authorization,content-type',
      },
    });

  it('responds with 204 to a preflight request from an allowed origin', async () => {
    for (const path of ['/v2/shorten', '/v2']) {
      const { status, text, headers } = await preflight(bench.product.api + path, allowedOrigin);
      expect([status, text], path).to.deep.equal([204, '']);
      expect(headers).to.include({
        'access-control-allow-origin': allowedOrigin,
        'access-control-max-age': '7200',
        vary: 'Origin',
      });
      expect(list(headers['access-control-allow-methods'])).to.include.members([
        ...['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
      ]);
      expect(list(headers['access-control-allow-headers'])).to.include.members([
        ...['Authorization', 'Content-Type', 'Idempotency-Key', 'If-Match', 'If-None-Match'],
        'X-Request-Id',
      ]);
      expect(headers).not.to.have.property('access-control-allow-credentials');
    }
  });

  it('rejects every other preflight request with 403, without CORS headers', async () => {
    const { api, admin } = bench.product;
    for (const [url, origin] of [
      [`${api}/v2/shorten`, other],
      [`${api}/v2/shorten`, 'null'],
      [`${api}/openapi.json`, allowedOrigin],
      [`${api}/console/v2/links`, allowedOrigin],
      [`${admin}/admin/keys`, allowedOrigin],
    ] as const) {
      const response = await preflight(url, origin);
      expect(response.status, `${url} from ${origin}`).to.equal(403);
      expect(corsHeaders(response), url).to.deep.equal([]);
    }
  });

  it('lets an allowed origin read every response of /v2, errors included', async () => {
    const { key } = await bench.key('PRO');
    for (const [path, status, own] of [
      ['/v2/usage', 200, key],
      ['/v2/usage', 401, null],
      ['/v2/qr/unknown', 404, key],
    ] as const) {
      const response = await bench.api(path, own, { headers: { Origin: allowedOrigin } });
      expect(response.status, path).to.equal(status);
      expect(response.headers, path).to.include({ 'access-control-allow-origin': allowedOrigin });
      expect(response.headers.vary, path).to.match(/^Origin\b/);
      const names = list(response.headers['access-control-expose-headers']);
      expect(names, path).to.include.members(exposed);
    }
  });

  it('sends no CORS headers to another origin, or for another path', async () => {
    const { key } = await bench.key('PRO');
    const response = await bench.api('/v2/usage', key, { headers: { Origin: other } });
    expect(response.status).to.equal(200);
    expect(corsHeaders(response)).to.deep.equal([]);
    // A cache must not serve this response to the allowed origin.
    expect(response.headers.vary).to.equal('Origin');
    const { api, admin, adminToken } = bench.product;
    const headers = { Origin: allowedOrigin, Authorization: `Bearer ${adminToken}` };
    for (const url of [`${api}/openapi.json`, `${api}/console/v2/usage`, `${admin}/admin/keys`]) {
      expect(corsHeaders(await sendRequest(url, { headers })), url).to.deep.equal([]);
    }
  });
});
