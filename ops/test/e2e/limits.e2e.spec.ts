import { expect } from 'chai';
import { projectionNames } from '../../../projectors/runtime/projection.js';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { onStack } from '../support/product.js';
import {
  dependenciesAt,
  expectEnvelope,
  expectError,
  keyFixture,
  sharedProduct,
} from './harness.js';

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

  for (const [plan, limit] of [
    ...[['FREE', 60] as const, ['HOBBY', 300] as const],
    ...[['INDIE', 1_000] as const, ['PRO', 5_000] as const],
  ]) {
    it(`are ${limit} requests a minute on ${plan}, counted down one by one`, async () => {
      const { key, name } = await bench.key(plan, { account });
      const began = Date.now() / 1_000;
      const { reset } = rateHeaders(await bench.api('/v2/usage', key));
      // A window of 60 s from the first call, rounded up to a second.
      expect(reset).to.be.within(Math.floor(began + 60), Math.ceil(Date.now() / 1_000 + 61));
      for (let call = 2; call <= 4; call += 1) {
        const response = await bench.api('/v2/usage', key);
        expect(rateHeaders(response)).to.deep.equal({ limit, remaining: limit - call, reset });
        expect(response.headers['x-api-key-name']).to.equal(name);
      }
    });
  }

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
  const pro = keyFixture(bench, 'PRO', { account: 'limits' });

  const idOf = async (sent: string | null, at = '/v2/usage', key: string | null = pro.key) => {
    const headers: Record<string, string> = sent === null ? {} : { 'X-Request-Id': sent };
    return (await bench.api(at, key, { headers })).headers['x-request-id'];
  };

  it('is echoed, also without a key and on unknown paths and the admin listener', async () => {
    for (const id of ['client-1:2/3', '!~"\'<>&', 'x'.repeat(128)]) {
      expect(await idOf(id)).to.equal(id);
      expect(await idOf(id, '/v2/usage', null)).to.equal(id);
      expect(await idOf(id, '/nothing')).to.equal(id);
      const headers = { 'X-Request-Id': id };
      const response = await sendRequest(`${bench.product.admin}/admin/keys`, { headers });
      expect(response.headers['x-request-id']).to.equal(id);
    }
  });

  it('is generated if it is missing or invalid', async () => {
    const generated = new Set<unknown>();
    for (const id of [null, null, '', 'x'.repeat(129), 'a b', 'ä', '\t']) {
      const response = await idOf(id);
      expect(response).to.match(uuid);
      generated.add(response);
    }
    expect(generated.size).to.equal(7);
  });
});

describe('/health', () => {
  const bench = sharedProduct();

  for (const name of ['api', 'edge', 'admin'] as const) {
    it(`passes on the ${name}, without a key, and allows no other method`, async () => {
      for (const method of ['GET', 'HEAD']) {
        const { status, text, headers } = await sendRequest(`${bench.product[name]}/health`, {
          method,
        });
        expect([status, text]).to.deep.equal([200, method === 'GET' ? '{"status":"pass"}' : '']);
        expect(headers).to.include({
          'content-type': 'application/json; charset=utf-8',
          'cache-control': 'no-store',
        });
        expect(headers).not.to.have.property('x-ratelimit-limit');
      }
      for (const path of ['/health', '/health/ready']) {
        const response = await sendRequest(bench.product[name] + path, { method: 'POST' });
        expectEnvelope(response, {
          ...{ status: 405, message: 'Method Not Allowed', path, method: 'POST' },
        });
        expect(response.headers.allow).to.equal('GET, HEAD');
      }
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
      for (const path of ['/', '/nothing', '/healthy', '/health/', '/V2/usage', '/v2usage']) {
        const response = await sendRequest(origin + path);
        expectEnvelope(response, { status: 404, message: 'Not Found', path });
      }
    }
  });
});
