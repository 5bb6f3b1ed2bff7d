import { expect } from 'chai';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { onStack } from '../support/product.js';
import {
  keyFixture,
  dependenciesAt,
  destination,
  expectBody,
  expectEnvelope,
  expectError,
  monthly,
  productFixture,
} from './harness.js';
import { projectionNames } from '../../../projectors/runtime/projection.js';

const rateLimited = 'Rate limit exceeded. Try again in the next minute.';
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('command API: limits', () => {
  const bench = productFixture();

  interface RateHeaders {
    readonly limit: number;
    readonly remaining: number;
    readonly reset: number;
  }

  const rateHeaders = ({ headers }: HttpResponse): RateHeaders => {
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
    ['FREE', 60],
    ['HOBBY', 300],
    ['INDIE', 1_000],
    ['PRO', 5_000],
  ] as const) {
    it(`${plan} has ${limit} requests a minute, counted down one by one`, async () => {
      const { key, name } = await bench.key(plan);
      const began = Date.now() / 1_000;
      const first = await bench.api('/v2/usage', key);
      const { reset } = rateHeaders(first);
      // A window of 60 s from the first call, rounded up to a second.
      expect(reset).to.be.within(Math.floor(began + 60), Math.ceil(Date.now() / 1_000 + 61));
      for (let call = 2; call <= 10; call += 1) {
        const response = await bench.api('/v2/usage', key);
        expect(rateHeaders(response)).to.deep.equal({ limit, remaining: limit - call, reset });
        expect(response.headers['x-api-key-name']).to.equal(name);
      }
    });
  }

  it('rejects a call above the limit with 429 and Retry-After, also in the body', async () => {
    const { key, name } = await bench.key('FREE');
    for (let call = 1; call <= 60; call += 1) {
      const response = await bench.api('/v2/stats/nothing0', key);
      expect(response.status).to.equal(404);
      expect(rateHeaders(response).remaining).to.equal(60 - call);
    }
    for (let call = 0; call < 3; call += 1) {
      const response = await bench.api('/v2/usage', key);
      const { retryAfter } = response.json() as { retryAfter: number };
      const message = rateLimited;
      expectError(response, { status: 429, message, path: '/v2/usage', retryAfter });
      expect(response.headers['retry-after']).to.equal(String(retryAfter));
      expect(retryAfter).to.be.within(1, 60);
      const { limit, remaining, reset } = rateHeaders(response);
      expect({ limit, remaining }).to.deep.equal({ limit: 60, remaining: 0 });
      expect(reset - Date.now() / 1_000).to.be.within(retryAfter - 3, retryAfter + 2);
      expect(response.headers['x-api-key-name']).to.equal(name);
    }
  });

  it('counts the keys of one account separately', async () => {
    const spent = await bench.key('FREE');
    const fresh = await bench.key('FREE');
    for (let call = 0; call < 61; call += 1) await bench.api('/v2/usage', spent.key);
    expect((await bench.api('/v2/usage', spent.key)).status).to.equal(429);
    const response = await bench.api('/v2/usage', fresh.key);
    expect(rateHeaders(response).remaining).to.equal(59);
  });

  it('FREE has 35 links a month; the next request gets the monthly 429', async () => {
    const { key } = await bench.key('FREE');
    for (let link = 0; link < 35; link += 1) await bench.link(key);
    for (let more = 0; more < 2; more += 1) {
      const response = await bench.shorten(key, { url: destination });
      expectBody(response, 429, monthly('Monthly link limit reached.', 35));
      expect(response.headers).not.to.have.property('retry-after');
      expect(rateHeaders(response).limit).to.equal(60);
    }
    const usage = (await bench.api('/v2/usage', key)).json();
    expect(usage).to.deep.include({ links: { used: 35, limit: 35 } });
    expect(usage).to.deep.include({ calls: { used: 37, limit: 2_000 } });
  });

  describe('rate-limit headers are in every response to a known key', () => {
    const post = (body: unknown, headers: Record<string, string> = {}): RequestOptions => ({
      method: 'POST',
      body,
      headers,
    });
    const table: readonly [number, string, RequestOptions][] = [
      [200, '/v2/usage', {}],
      [200, '/v2/usage', { method: 'HEAD' }],
      [201, '/v2/shorten', post({ url: destination })],
      [400, '/v2/shorten', post({})],
      [400, '/v2/shorten', post('{', { 'Content-Type': 'application/json' })],
      [400, '/v2/shorten', post({ url: destination }, { 'Idempotency-Key': '' })],
      [403, '/v2/shorten', post({ url: destination, alias: 'not-on-free' })],
      [404, '/v2', {}],
      [404, '/v2/stats/nothing0', {}],
      [405, '/v2/shorten', {}],
      [413, '/v2/shorten', post('x'.repeat(70_000))],
      [415, '/v2/shorten', post('{}')],
    ];
    for (const [status, at, options] of table) {
      it(`${status} ${options.method ?? 'GET'} ${at}`, async () => {
        const { key, name } = await bench.key('FREE');
        const response = await bench.api(at, key, options);
        expect(response.status, response.text).to.equal(status);
        const { limit, remaining } = rateHeaders(response);
        expect({ limit, remaining }).to.deep.equal({ limit: 60, remaining: 59 });
        expect(response.headers['x-api-key-name']).to.equal(name);
        expect(response.headers['x-request-id']).to.match(uuid);
        expect(response.headers['cache-control']).to.equal('no-store');
      });
    }
  });

  describe('X-Request-Id', () => {
    const pro = keyFixture(bench, 'PRO');

    const idOf = async (
      sent: string | null,
      at = '/v2/usage',
      withKey = true,
    ): Promise<unknown> => {
      const headers: Record<string, string> = sent === null ? {} : { 'X-Request-Id': sent };
      const response = await bench.api(at, withKey ? pro.key : null, { headers });
      return response.headers['x-request-id'];
    };

    it('is echoed', async () => {
      for (const id of ['a', 'client-1:2/3', '!~"\'<>&', 'x'.repeat(128)]) {
        expect(await idOf(id)).to.equal(id);
        expect(await idOf(id, '/v2/nothing')).to.equal(id);
        expect(await idOf(id, '/v2/usage', false)).to.equal(id);
        expect(await idOf(id, '/nothing')).to.equal(id);
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

    it('is in responses of the admin listener too', async () => {
      const response = await sendRequest(`${bench.product.admin}/admin/keys`, {
        headers: { 'X-Request-Id': 'operator-1' },
      });
      expect(response.headers['x-request-id']).to.equal('operator-1');
    });
  });

  describe('health', () => {
    const listeners = ['api', 'edge', 'admin'] as const;

    for (const name of listeners) {
      it(`passes on the ${name}, without a key, and costs nothing`, async () => {
        for (const method of ['GET', 'HEAD']) {
          const response = await sendRequest(`${bench.product[name]}/health`, { method });
          expect(response.status).to.equal(200);
          expect(response.text).to.equal(method === 'GET' ? '{"status":"pass"}' : '');
          expect(response.headers['content-type']).to.equal('application/json; charset=utf-8');
          expect(response.headers['cache-control']).to.equal('no-store');
          expect(response.headers).not.to.have.property('x-ratelimit-limit');
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

      it(`allows no other method on the ${name}`, async () => {
        for (const path of ['/health', '/health/ready']) {
          const response = await sendRequest(bench.product[name] + path, { method: 'POST' });
          expectEnvelope(response, {
            status: 405,
            message: 'Method Not Allowed',
            path,
            method: 'POST',
          });
          expect(response.headers.allow).to.equal('GET, HEAD');
        }
      });
    }

    it('is the only public path of the API and the admin listener', async () => {
      for (const origin of [bench.product.api, bench.product.admin]) {
        for (const path of ['/', '/nothing', '/healthy', '/health/', '/V2/usage', '/v2usage']) {
          const response = await sendRequest(origin + path);
          expectEnvelope(response, { status: 404, message: 'Not Found', path });
        }
      }
    });
  });
});
