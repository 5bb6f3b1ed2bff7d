// An own product: with the limits of the default plans, no key exhausts its monthly calls before those of the minute.
import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { folderFixture } from '../support/fixtures.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  destination,
  expectBody,
  expectError,
  expectRefused,
  invalidKey,
  keyFixture,
  lacking,
  missingKey,
  monthly,
  productFixture,
} from './harness.js';

const few = { monthlyCalls: 3, monthlyLinks: 1, monthlyQrCodes: 1 };
const unlimited = { monthlyCalls: null, monthlyLinks: null, monthlyQrCodes: null };
/** FREE reaches the limit of the minute first, HOBBY that of the month. */
const plans = {
  plans: {
    FREE: { requestsPerMinute: 3, ...few },
    HOBBY: { requestsPerMinute: 1_000, ...few },
    INDIE: { requestsPerMinute: 1_000, ...few, monthlyCalls: 1_000 },
    PRO: { requestsPerMinute: 1_000, ...unlimited },
  },
  gates: { customAlias: 'INDIE', passwordProtection: 'INDIE' },
};

const upgradeUrl = 'https://pay.example/plans?from=linklog';
const linksSpent = { ...monthly('Monthly link limit reached.', 1), upgradeUrl };
const tooLarge = 'Request body is too large';
const wrongType = 'Content-Type must be application/json';

const post = (body: unknown, headers: Record<string, string> = {}): RequestOptions => ({
  ...{ method: 'POST', body, headers },
});
const large = 'x'.repeat(70_000);
const text = { 'Content-Type': 'text/plain' };
const json = { 'Content-Type': 'application/json' };

describe('the checks of a request', () => {
  const folder = folderFixture();
  const bench = productFixture(async () => {
    const file = path.join(folder.path, 'plans.json');
    await writeFile(file, JSON.stringify(plans));
    return { PLANS_FILE: file, UPGRADE_URL: upgradeUrl };
  });
  const pro = keyFixture(bench, 'PRO');

  /** A new key whose limits are reached. */
  const createExhaustedKey = async (plan: 'FREE' | 'HOBBY'): Promise<string> => {
    const { key } = await bench.key(plan);
    for (let call = 1; call <= 3; call += 1) {
      expect((await bench.api('/v2/nothing', key)).status).to.equal(404);
    }
    return key;
  };

  /** Requests that later checks would reject, except the last one. */
  const laterErrors: readonly [string, RequestOptions][] = [
    ['/v2/nothing', {}],
    ['/v2', {}],
    ['/v2/shorten', { method: 'PUT' }],
    ['/v2/shorten', post(large)],
    ['/v2/shorten', post('{}', text)],
    ['/v2/shorten', post('{', json)],
    ['/v2/stats/nothing', {}],
    ['/v2/shorten', post({ url: destination })],
  ];

  it('start with the key', async () => {
    for (const [at, options] of laterErrors) {
      expectBody(await bench.api(at, null, options), 401, missingKey);
      expectBody(await bench.api(at, 'll_nonsense', options), 401, invalidKey);
    }
  });

  it('continue with the limit of the minute, and the monthly calls', async () => {
    const free = await createExhaustedKey('FREE');
    const hobby = await createExhaustedKey('HOBBY');
    for (const [at, options] of laterErrors) {
      const response = await bench.api(at, free, options);
      const { retryAfter } = response.json() as { retryAfter: number };
      const message = 'Rate limit exceeded. Try again in the next minute.';
      const { method = 'GET' } = options;
      expectError(response, { status: 429, message, path: at, method, retryAfter });
      const spent = { ...monthly('Monthly API call limit reached.', 3), upgradeUrl };
      expectBody(await bench.api(at, hobby, options), 429, spent);
    }
    expect((await bench.api('/v2/usage', free)).status).to.equal(429);
    const usage = await bench.api('/v2/usage', hobby);
    expect(usage.json()).to.deep.include({ calls: { used: 3, limit: 3 } });
  });

  it('let a tool of agents return that the monthly calls are used up', async () => {
    const hobby = await createExhaustedKey('HOBBY');
    const call = async (name: string, params = {}) => {
      const response = await sendRequest(`${bench.product.api}/mcp`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${hobby}` },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, ...params } },
      });
      return (response.json() as { readonly result: object }).result;
    };
    const spent = { ...monthly('Monthly API call limit reached.', 3), upgradeUrl };
    const values = { arguments: { url: destination } };
    expect(await call('create_link', values)).to.deep.include({
      ...{ isError: true, structuredContent: spent },
    });
    expect(await call('usage')).not.to.have.property('isError');
  });

  it('continue with path, method, size, type and scope', async () => {
    const { key } = await bench.key('PRO', { scopes: [] });
    for (const as of [pro.key, key]) {
      const unknown = await bench.api('/v2/nothing', as, post(large, text));
      expect(unknown.status).to.equal(404);
      const put = await bench.api('/v2/shorten', as, { ...post(large, text), method: 'PUT' });
      expect(put.status).to.equal(405);
      expectRefused(await bench.api('/v2/shorten', as, post(large, text)), 413, tooLarge);
      expectRefused(await bench.api('/v2/shorten', as, post('{}', text)), 415, wrongType);
    }
    for (const options of [post('{', json), post({ url: 'x' }), post({ url: destination })]) {
      for (const at of ['/v2/shorten', '/v2/shorten/batch']) {
        expectBody(await bench.api(at, key, options), 403, lacking('links:create'));
      }
    }
    expectBody(await bench.api('/v2/qr/nothing?size=1', key), 403, lacking('qr:read'));
    expectBody(await bench.api('/v2/stats/nothing', key), 403, lacking('stats:read'));
    expect((await bench.api('/v2/usage', key)).status).to.equal(200);
  });

  it('continue with the Idempotency-Key: after size, type and scope, before the body', async () => {
    const headers = { 'Idempotency-Key': 'the-same' };
    const { id, key } = await bench.key('INDIE');
    const aliased = { url: destination, alias: 'stored-response' };
    const first = await bench.shorten(key, aliased, headers);
    expect(first.status).to.equal(201);
    const again = (options: RequestOptions): Promise<HttpResponse> =>
      bench.api('/v2/shorten', key, { ...options, headers: { ...options.headers, ...headers } });
    await bench.admin('PATCH', `/admin/keys/${id}`, { plan: 'FREE' });
    const replayed = await again(post(aliased));
    expect(replayed.text).to.equal(first.text);
    expect(replayed.headers['idempotency-replayed']).to.equal('true');
    await bench.admin('PATCH', `/admin/keys/${id}`, { plan: 'INDIE' });
    expectRefused(await again(post(large)), 413, tooLarge);
    expectRefused(await again(post(JSON.stringify(aliased), text)), 415, wrongType);
    const mismatch = 'Idempotency-Key was already used with another request body';
    for (const body of ['{', '{"__proto__":1}', `{"url":"${destination}","alias":"a"}`]) {
      expectRefused(await again(post(body, json)), 422, mismatch);
    }
    const refused = await bench.shorten(key, { url: destination });
    expectBody(refused, 429, linksSpent);
    expect(refused.headers).not.to.have.property('retry-after');
    await bench.admin('PATCH', `/admin/keys/${id}`, { scopes: ['links:read'] });
    expectBody(await again(post(aliased)), 403, lacking('links:create'));
  });

  it('continue with the body, the switches, the features, the monthly links and the alias', async () => {
    const full = { url: destination, alias: 'any-alias', password: 'long enough' };
    const invalid = await bench.shorten(pro.key, { ...full, maxClicks: 0 });
    expectRefused(invalid, 400, 'maxClicks must be at least 1');
    const { key: hobby } = await bench.key('HOBBY');
    await bench.admin('PATCH', '/admin/platform', { features: { passwords: false } });
    try {
      const off = 'Password protection is currently disabled on this platform';
      expectRefused(await bench.shorten(hobby, full), 400, off);
    } finally {
      await bench.admin('PATCH', '/admin/platform', { features: { passwords: true } });
    }
    await bench.link(hobby);
    expectBody(await bench.shorten(hobby, full), 403, {
      statusCode: 403,
      message: 'Custom aliases require the INDIE plan or higher.',
      error: 'Forbidden',
      ...{ feature: 'customAlias', currentPlan: 'HOBBY', upgradeUrl },
    });
    const { key: indie } = await bench.key('INDIE');
    await bench.link(indie, { alias: 'the-only-one' });
    for (const alias of ['admin', 'the-only-one']) {
      expectBody(await bench.shorten(indie, { url: destination, alias }), 429, linksSpent);
    }
  });

  describe('of a request cost', () => {
    /** Usage of a key in the operators' API, which costs no call. */
    const spent = async (id: string): Promise<{ minute: number; calls: number; links: number }> => {
      const { usage } = (await bench.admin('GET', `/admin/keys/${id}`)).json() as {
        usage: { minute: { used: number }; month: { calls: number; links: number } };
      };
      const { calls, links } = usage.month;
      return { minute: usage.minute.used, calls, links };
    };

    it('one call, whatever the response, and one link for a 201 that is no replay', async () => {
      const alias = 'is-spent-once';
      const idempotent = { 'Idempotency-Key': 'is-spent' };
      const before = await spent(pro.id);
      for (const [status, at, options, links] of [
        [201, '/v2/shorten', post({ url: destination, alias }), 1],
        [400, '/v2/shorten', post({ url: destination, alias }), 0],
        [404, '/v2/nothing', {}, 0],
        [200, `/v2/stats/${alias}`, { method: 'HEAD' }, 0],
        [405, '/v2/stats/nothing', { method: 'DELETE' }, 0],
        [413, '/v2/shorten', post(large), 0],
        [201, '/v2/shorten', post({ url: destination }, idempotent), 1],
        [201, '/v2/shorten', post({ url: destination }, idempotent), 0],
        [422, '/v2/shorten', post({}, idempotent), 0],
      ] as const) {
        const response = await bench.api(at, pro.key, options);
        expect(response.status, response.text).to.equal(status);
        before.minute += 1;
        before.calls += 1;
        before.links += links;
        expect(await spent(pro.id), at).to.deep.equal(before);
      }
    });

    it('nothing for the 429 of both call limits, and no monthly call for usage', async () => {
      for (const [plan, path, calls] of [
        ['FREE', '/v2/nothing', 3],
        ['FREE', '/v2/usage', 0],
        ['HOBBY', '/v2/nothing', 3],
      ] as const) {
        const { id, key } = await bench.key(plan);
        for (let call = 1; call <= 8; call += 1) await bench.api(path, key);
        expect(await spent(id), plan + path).to.deep.equal({ minute: 3, calls, links: 0 });
      }
    });
  });

  it('reject preflight requests, and add no CORS headers, without CORS_ORIGINS', async () => {
    const headers = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST' };
    const preflight = await bench.api('/v2/shorten', null, { method: 'OPTIONS', headers });
    expect(preflight.status).to.equal(403);
    for (const response of [preflight, await bench.api('/v2/usage', pro.key, { headers })]) {
      expect(Object.keys(response.headers).join()).to.not.match(/access-control-|vary/);
    }
  });

  describe('that fail with an internal error', () => {
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

    it('return only its name on every listener, and log the request id', async () => {
      await withBrokenTable('ledger', 'links', async () => {
        const headers = { 'X-Request-Id': 'broken-1' };
        const at = '/v2/shorten/batch';
        const options = { ...post({ urls: [{ url: destination }] }), headers };
        const response = await bench.api(at, pro.key, options);
        expectError(response, { status: 500, message, path: at, method: 'POST' });
        expect(response.headers).to.include.all.keys('x-ratelimit-remaining', 'x-api-key-name');
        expect(response.headers['x-request-id']).to.equal('broken-1');
      });
      await withBrokenTable('projection_redirects', 'links', async () => {
        expectError(await bench.visit('unseen00'), { status: 500, message, path: '/unseen00' });
      });
      expect((await bench.visit('unseen00')).status).to.equal(404);
      await withBrokenTable('ledger', 'api_keys', async () => {
        const response = await bench.admin('GET', '/admin/keys');
        expectError(response, { status: 500, message, path: '/admin/keys' });
      });
      await eventuallyPasses(() => {
        const lines = bench.product.stderr().split('\n');
        expect(lines.find((line) => line.includes('broken-1'))).to.include('division by zero');
      });
    });
  });
});
