import { expect } from 'chai';
import { scopeNames } from '../../../schemas/scopes.js';
import { sendRequest, type HttpResponse } from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  expectBody,
  expectError,
  invalidKey,
  lacking,
  missingKey,
  sharedProduct,
} from './harness.js';

describe('API keys', () => {
  const bench = sharedProduct();
  const account = 'keys';

  const createKey = (body: object): Promise<HttpResponse> =>
    bench.admin('POST', '/admin/keys', { name: 'a key', plan: 'FREE', account, ...body });
  const changeKey = (id: string, body: object): Promise<HttpResponse> =>
    bench.admin('PATCH', `/admin/keys/${id}`, body);
  const mistype = (key: string): string => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');

  it('are required: 401 without a key', async () => {
    for (const headers of [
      ...[{}, { Authorization: '' }, { Authorization: 'Basic dXNlcjpwYXNz' }],
      ...[{ Authorization: 'Bearer' }, { Authorization: 'll_0' }, { 'X-API-Key': 'll_0' }],
    ]) {
      const response = await bench.api('/v2/usage', null, { headers: { ...headers } });
      expectBody(response, 401, missingKey);
      expect(response.headers['www-authenticate']).to.equal('Bearer');
      const names = Object.keys(response.headers).join();
      expect(names).to.not.match(/x-(?:ratelimit|api-key)/);
    }
  });

  it('are valid: 401 for other texts, for no call', async () => {
    const { id, key } = await bench.key('FREE', { account });
    for (const invalid of [
      ...['nonsense', mistype(key), key.slice(0, -1), `ll_'OR/**/1=1--`, 'x'.repeat(10_000)],
    ]) {
      const response = await bench.api('/v2/usage', invalid);
      expectBody(response, 401, invalidKey);
      expect(response.headers).not.to.have.property('x-api-key-name');
    }
    const { usage } = (await bench.admin('GET', `/admin/keys/${id}`)).json() as { usage: object };
    expect(usage).to.have.nested.property('month.calls', 0);
    expect(usage).to.have.nested.property('minute.used', 0);
    const headers = { Authorization: `bEARER ${key}` };
    expect((await bench.api('/v2/usage', null, { headers })).status).to.equal(200);
  });

  describe('of operators', () => {
    it('are shown once, and have exactly these fields', async () => {
      const response = await createKey({ name: 'mine', plan: 'INDIE', extra: 1 });
      const { key, ...created } = response.json() as IssuedKey;
      expectBody(response, 201, {
        ...{ id: created.id, key, name: 'mine', plan: 'INDIE', account, scopes: scopeNames },
        ...{ active: true, rootId: created.id, expiresAt: null, createdAt: created.createdAt },
      });
      expect(key).to.match(/^ll_[0-9A-Za-z]{38}$/);
      const later = await bench.admin('GET', `/admin/keys/${created.id}`);
      const { month } = (later.json() as { usage: { month: { month: string } } }).usage;
      expectBody(later, 200, {
        ...{ ...created, lastUsedAt: null },
        usage: {
          minute: { used: 0, limit: 1_000 },
          month: { month: month.month, calls: 0, links: 0, qrCodes: 0 },
        },
      });
      expect((await bench.admin('GET', '/admin/keys?limit=1000')).text).not.to.include(key);
      const standard = await createKey({ account: undefined });
      expect(standard.json()).to.include({ account: 'default' });
    });

    it('have scopes and an expiry, which may change', async () => {
      const scopes = ['stats:read', 'links:read', 'links:read'];
      const { id, key, ...rest } = (
        await createKey({ scopes, expiresIn: 60 })
      ).json() as IssuedKey & Readonly<Record<'scopes' | 'expiresAt', unknown>>;
      expect(rest.scopes).to.deep.equal(['links:read', 'stats:read']);
      expect(Date.parse(String(rest.expiresAt)) - Date.parse(rest.createdAt)).to.equal(60_000);
      const stats = () => bench.api('/v2/stats/nothing', key);
      expect((await stats()).status).to.equal(404);
      const changed = await changeKey(id, { scopes: ['qr:read'], expiresIn: null });
      expect(changed.json()).to.deep.include({ scopes: ['qr:read'], expiresAt: null });
      expectBody(await stats(), 403, lacking('stats:read'));
      const invalid = { status: 400, path: '/admin/keys', method: 'POST' };
      const message = 'expiresIn must be at least 60 seconds (1 minute)';
      expectError(await createKey({ expiresIn: 59 }), { ...invalid, message });
    });

    it('change name and plan, even at the rate limit', async () => {
      const { id, key } = await bench.key('FREE', { account });
      for (let call = 0; call < 61; call += 1) await bench.api('/v2/usage', key);
      expect((await bench.api('/v2/usage', key)).status).to.equal(429);
      const change = { plan: 'HOBBY', name: 'キー "100%"' };
      expect((await changeKey(id, change)).json()).to.include(change);
      // A full window is cached as long as a change may take.
      await eventuallyPasses(async () => {
        const response = await bench.api('/v2/usage', key);
        expect(response.status).to.equal(200);
        expect(response.headers).to.include({
          ...{ 'x-ratelimit-limit': '300', 'x-api-key-name': '%E3%82%AD%E3%83%BC "100%"' },
        });
        expect(response.json()).to.include({ plan: 'HOBBY' });
      });
    });

    it('require the admin token, on the admin listener', async () => {
      const { key } = await bench.key('PRO', { account });
      const { admin, adminToken, api, edge } = bench.product;
      for (const path of ['/admin/keys', '/admin/nothing']) {
        for (const headers of [
          ...[{}, { Authorization: `Bearer ${key}` }, { Authorization: adminToken }],
        ]) {
          const response = await sendRequest(admin + path, { headers: { ...headers } });
          expectBody(response, 401, {
            statusCode: 401,
            message: 'Admin token required. Pass it as: Authorization: Bearer <ADMIN_TOKEN>',
            error: 'Unauthorized',
          });
          expect(response.headers['www-authenticate']).to.equal('Bearer');
        }
      }
      const headers = { Authorization: `Bearer ${adminToken}` };
      for (const origin of [api, edge]) {
        expect((await sendRequest(`${origin}/admin/keys`, { headers })).status).to.equal(404);
      }
    });
  });
});
