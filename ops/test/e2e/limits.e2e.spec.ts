import { expect } from 'chai';
import { projectionNames } from '../../../projectors/projections.js';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { onStack } from '../support/product.js';
import { dependenciesAt, expectEnvelope, expectError, sharedProduct } from './harness.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('limits of a key', () => {
  const bench = sharedProduct();
  const account = 'limits';

  const rateHeaders = ({ headers }: HttpResponse) => {
    const number = (name: string): number => {
      expect(headers[name], name).to.match(/^\d+$/);
      return Number(headers[name]);
    };
    return {
      limit: number('x-ratelimit-limit'),
      remaining: number('x-ratelimit-remaining'),
      reset: number('x-ratelimit-reset'),
    };
  };

  it('reject a call with 429 and Retry-After, also in the body, and no call of another key', async () => {
    const { key, name } = await bench.key('FREE', { account });
    for (let call = 1; call <= 60; call += 1) {
      expect((await bench.api('/v2/stats/nothing0', key)).status).to.equal(404);
    }
    for (let call = 0; call < 3; call += 1) {
      const response = await bench.api('/v2/usage', key);
      const { retryAfter } = response.json() as { retryAfter: number };
      const message = 'Rate limit exceeded. Try again in the next minute.';
      expectError(response, { status: 429, message, path: '/v2/usage', retryAfter });
      expect(response.headers['retry-after']).to.equal(String(retryAfter));
      expect(retryAfter).to.be.within(1, 60);
      const { limit, remaining, reset } = rateHeaders(response);
      expect({ limit, remaining }).to.deep.equal({ limit: 60, remaining: 0 });
      expect(reset - Date.now() / 1_000).to.be.within(retryAfter - 3, retryAfter + 2);
      expect(response.headers['x-api-key-name']).to.equal(name);
    }
    const { key: other } = await bench.key('FREE', { account });
    expect(rateHeaders(await bench.api('/v2/usage', other)).remaining).to.equal(59);
  });
});

describe('X-Request-Id', () => {
  const bench = sharedProduct();

  it('is echoed on both listeners, also without a key, and generated if it is invalid', async () => {
    const { api, admin } = bench.product;
    for (const url of [`${api}/v2/usage`, `${api}/nothing`, `${admin}/admin/keys`]) {
      for (const id of ['!~"\'<>&', 'x'.repeat(128)]) {
        const { headers } = await sendRequest(url, { headers: { 'X-Request-Id': id } });
        expect(headers['x-request-id']).to.equal(id);
      }
    }
    for (const id of ['', 'x'.repeat(129), 'a b', 'ä']) {
      const { headers } = await sendRequest(`${api}/nothing`, { headers: { 'X-Request-Id': id } });
      expect(headers['x-request-id']).to.match(uuid);
    }
  });
});

describe('/health', () => {
  const bench = sharedProduct();

  for (const name of ['api', 'edge', 'admin'] as const) {
    it(`passes on the ${name}, without a key, and allows no other method`, async () => {
      const { status, text, headers } = await sendRequest(`${bench.product[name]}/health`);
      expect([status, text]).to.deep.equal([200, '{"status":"pass"}']);
      expect(headers['cache-control']).to.equal('no-store');
      expect(headers).not.to.have.property('x-ratelimit-limit');
      const path = '/health/ready';
      const response = await sendRequest(bench.product[name] + path, { method: 'POST' });
      expectEnvelope(response, {
        ...{ status: 405, message: 'Method Not Allowed', path, method: 'POST' },
      });
      expect(response.headers.allow).to.equal('GET, HEAD');
    });

    it(`is ready on the ${name}, with each dependency and each projection`, async () => {
      const response = await sendRequest(`${bench.product[name]}/health/ready`);
      expect(response.status).to.equal(200);
      const report = response.json() as {
        projections: { name: string; lag: number }[];
        spool: object | null;
      };
      expect(report).to.deep.include({
        status: 'pass',
        dependencies: Object.fromEntries(
          dependenciesAt(name).map((dependency) => [dependency, { state: 'up' }]),
        ),
      });
      expect(report.projections.map((projection) => projection.name)).to.have.members([
        ...projectionNames,
      ]);
      for (const projection of report.projections) {
        expect(projection).to.include({ deadLetters: 0, parked: 0 });
        expect(projection.lag).to.be.a('number').and.at.least(0);
      }
      // Only processes with an edge have a spool.
      if (onStack && name !== 'edge') expect(report.spool).to.equal(null);
      else expect(report.spool).to.have.all.keys('events', 'bytes', 'leftOver', 'setAside');
    });
  }

  it('is the only public path of the API and the admin listener, besides documents', async () => {
    for (const origin of [bench.product.api, bench.product.admin]) {
      for (const path of ['/', '/healthy', '/health/', '/V2/usage']) {
        const response = await sendRequest(origin + path);
        expectEnvelope(response, { status: 404, message: 'Not Found', path });
      }
    }
  });
});
