import { expect } from 'chai';
import { scopeNames } from '../../../schemas/scopes.js';
import { sendRequest } from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import {
  destination,
  expectBody,
  expectError,
  invalidKey,
  lacking,
  missingKey,
  timestampPattern,
  productFixture,
} from './harness.js';
import { eventuallyPasses } from '../support/waiting.js';

describe('command API: API keys', () => {
  const bench = productFixture();

  it('include the first key, which the first start prints', async () => {
    const { firstKey } = bench.product;
    if (firstKey === null) throw new Error('the ready line has no first key');
    expect(firstKey).to.match(/^ll_[0-9A-Za-z]{38}$/);
    const response = await bench.api('/v2/usage', firstKey);
    expect(response.status).to.equal(200);
    expect(response.headers['x-api-key-name']).to.equal('first-key');
    expect(response.headers['x-ratelimit-limit']).to.equal('5000');
    expect(response.json()).to.deep.include({ plan: 'PRO' });
  });

  describe('401', () => {
    it('is the response without a key', async () => {
      for (const headers of [
        {},
        { Authorization: '' },
        { Authorization: 'Basic dXNlcjpwYXNz' },
        { Authorization: 'Bearer' },
        { Authorization: 'll_0' },
        { 'X-API-Key': 'll_0' },
      ]) {
        const response = await bench.api('/v2/usage', null, { headers });
        expectBody(response, 401, missingKey);
        expect(response.headers['www-authenticate']).to.equal('Bearer');
        const names = Object.keys(response.headers);
        expect(names.filter((name) => /^x-(ratelimit|api-key)/.test(name))).to.deep.equal([]);
      }
    });

    const mistype = (key: string): string => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');

    it('is the response to an invalid key', async () => {
      const { key } = await bench.key('FREE');
      for (const invalid of [
        'nonsense',
        `ll_${'0'.repeat(38)}`,
        mistype(key),
        key.slice(0, -1),
        `${key}0`,
        key.toUpperCase(),
        `ll_'OR/**/1=1--`,
        'x'.repeat(10_000),
      ]) {
        const response = await bench.api('/v2/usage', invalid);
        expectBody(response, 401, invalidKey);
        expect(response.headers['www-authenticate']).to.equal('Bearer');
        expect(response.headers).not.to.have.property('x-api-key-name');
      }
    });

    it('costs no call', async () => {
      const { id, key } = await bench.key('FREE');
      for (let call = 0; call < 5; call += 1) await bench.api('/v2/shorten', mistype(key));
      const seen = (await bench.admin('GET', `/admin/keys/${id}`)).json();
      expect(seen).to.have.nested.property('usage.month.calls', 0);
      expect(seen).to.have.nested.property('usage.minute.used', 0);
    });

    it('accepts the scheme in any case', async () => {
      const { key } = await bench.key('FREE');
      for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
        const headers = { Authorization: `${scheme} ${key}` };
        expect((await bench.api('/v2/usage', null, { headers })).status, scheme).to.equal(200);
      }
    });
  });

  it('have their name in X-API-Key-Name, percent-encoded', async () => {
    for (const [name, header] of [
      ['with space & marks: "100%"!', 'with space & marks: "100%"!'],
      ['Schlüssel', 'Schl%C3%BCssel'],
      ['キー 🔑', '%E3%82%AD%E3%83%BC %F0%9F%94%91'],
      ['x'.repeat(100), 'x'.repeat(100)],
    ] as const) {
      const { key } = await bench.key('FREE', { name });
      const response = await bench.api('/v2/nothing', key);
      expect(response.status).to.equal(404);
      expect(response.headers['x-api-key-name']).to.equal(header);
    }
  });

  describe('are created, changed and revoked by operators', () => {
    const createKey = (body: unknown): ReturnType<typeof bench.admin> =>
      bench.admin('POST', '/admin/keys', body);

    it('with exactly these fields; the key is shown once', async () => {
      const response = await createKey({ name: 'mine', plan: 'INDIE', account: 'acme', extra: 1 });
      const created = response.json() as IssuedKey;
      expectBody(response, 201, {
        id: created.id,
        key: created.key,
        name: 'mine',
        plan: 'INDIE',
        account: 'acme',
        scopes: scopeNames,
        active: true,
        rootId: created.id,
        expiresAt: null,
        createdAt: created.createdAt,
      });
      expect(created.key).to.match(/^ll_[0-9A-Za-z]{38}$/);
      expect(created.createdAt).to.match(timestampPattern);
      const later = await bench.admin('GET', `/admin/keys/${created.id}`);
      const seen = later.json() as { usage: { month: { month: string } } };
      const { id, createdAt } = created;
      expectBody(later, 200, {
        id,
        name: 'mine',
        plan: 'INDIE',
        account: 'acme',
        scopes: scopeNames,
        active: true,
        rootId: id,
        expiresAt: null,
        createdAt,
        lastUsedAt: null,
        usage: {
          minute: { used: 0, limit: 1_000 },
          month: { month: seen.usage.month.month, calls: 0, links: 0, qrCodes: 0 },
        },
      });
      expect((await bench.admin('GET', '/admin/keys?limit=1000')).text).not.to.include(created.key);
    });

    it('in the default account by default', async () => {
      const created = (await createKey({ name: 'no account', plan: 'FREE' })).json() as IssuedKey;
      expect(created.account).to.equal('default');
    });

    it('not with an invalid body', async () => {
      for (const [body, message] of [
        [{ plan: 'FREE' }, /^name /],
        [{ name: 'a\nb', plan: 'FREE' }, /^name /],
        [{ name: 'a', plan: 'GOLD' }, /^plan /],
        [{ name: 'a', plan: 'FREE', account: 'a b' }, /^account /],
        [{ name: 'a', plan: 'FREE', scopes: ['all'] }, /^scopes /],
        [{ name: 'a', plan: 'FREE', expiresIn: 59 }, /^expiresIn /],
      ] as const) {
        const response = await createKey(body);
        const said = (response.json() as { message: string }).message;
        expect(said).to.match(message);
        expectError(response, { status: 400, message: said, path: '/admin/keys', method: 'POST' });
      }
    });

    it('with scopes and an expiry, which may change', async () => {
      const created = await createKey({
        name: 'reader',
        plan: 'FREE',
        scopes: ['stats:read', 'links:read', 'links:read'],
        expiresIn: 60,
      });
      expect(created.status).to.equal(201);
      const { id, key, ...rest } = created.json() as IssuedKey & Record<string, unknown>;
      const { createdAt, expiresAt } = rest as unknown as Record<string, string>;
      expect(rest['scopes']).to.deep.equal(['links:read', 'stats:read']);
      expect(Date.parse(expiresAt ?? '') - Date.parse(createdAt ?? '')).to.equal(60_000);
      const stats = () => bench.api('/v2/stats/nothing', key);
      expect((await stats()).status).to.equal(404);
      const change = { scopes: ['qr:read'], expiresIn: null };
      const changed = await bench.admin('PATCH', `/admin/keys/${id}`, change);
      expect(changed.json()).to.deep.include({ scopes: ['qr:read'], expiresAt: null });
      expectBody(await stats(), 403, lacking('stats:read'));
    });

    it('can be deactivated and activated', async () => {
      const { id, key } = await bench.key('HOBBY');
      const patch = (change: object): ReturnType<typeof bench.admin> =>
        bench.admin('PATCH', `/admin/keys/${id}`, change);
      const inactive = await patch({ active: false });
      expect(inactive.status).to.equal(200);
      expect(inactive.json()).to.include({ id, active: false });
      await eventuallyPasses(async () => {
        expectBody(await bench.api('/v2/usage', key), 401, invalidKey);
      });
      expect((await patch({ active: true })).json()).to.include({ id, active: true });
      await eventuallyPasses(async () => {
        expect((await bench.api('/v2/usage', key)).status).to.equal(200);
      });
    });

    it('change name and plan, even at the rate limit', async () => {
      const { id, key } = await bench.key('FREE');
      for (let call = 0; call < 61; call += 1) await bench.api('/v2/usage', key);
      expect((await bench.api('/v2/usage', key)).status).to.equal(429);
      const change = { plan: 'HOBBY', name: 'renamed' };
      const changed = await bench.admin('PATCH', `/admin/keys/${id}`, change);
      expect(changed.status).to.equal(200);
      expect(changed.json()).to.include(change);
      // A full window is cached as long as a change may take.
      await eventuallyPasses(async () => {
        const response = await bench.api('/v2/usage', key);
        expect(response.status).to.equal(200);
        expect(response.headers).to.include({
          'x-ratelimit-limit': '300',
          'x-api-key-name': 'renamed',
        });
        expect(response.json()).to.include({ plan: 'HOBBY' });
      });
    });

    it('are revoked permanently', async () => {
      const { id, key } = await bench.key('PRO');
      const { shortCode } = await bench.link(key);
      const revoked = await bench.admin('DELETE', `/admin/keys/${id}`);
      expect(revoked.status).to.equal(200);
      expect(revoked.json()).to.include({ id, active: false });
      await eventuallyPasses(async () => {
        expectBody(await bench.api('/v2/usage', key), 401, invalidKey);
      });
      const again = await bench.admin('PATCH', `/admin/keys/${id}`, { active: true });
      expect(again.status).to.equal(409);
      expectBody(await bench.api('/v2/usage', key), 401, invalidKey);
      // Its links stay in the account.
      expect((await bench.visit(shortCode)).headers.location).to.equal(destination);
      const { key: sibling } = await bench.key('FREE');
      expect((await bench.stats(shortCode, sibling)).shortCode).to.equal(shortCode);
    });

    it('are found by id only', async () => {
      for (const id of ['nothing', 'a%00b', '00000000-0000-7000-8000-000000000000']) {
        for (const [method, body] of [
          ['GET', undefined],
          ['PATCH', { name: 'x' }],
          ['DELETE', undefined],
        ] as const) {
          const path = `/admin/keys/${id}`;
          const response = await bench.admin(method, path, body);
          expectError(response, { status: 404, message: 'API key not found', path, method });
        }
      }
    });

    it('are listed in pages, each once', async () => {
      const listed = await bench.key('FREE', { name: 'to be listed' });
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const query: string = after === null ? '' : `&after=${after}`;
        const response = await bench.admin('GET', `/admin/keys?limit=7${query}`);
        const page = response.json() as { keys: { id: string }[]; next: string | null };
        expect(page.keys.length).to.be.within(1, 7);
        seen.push(...page.keys.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      expect(new Set(seen).size).to.equal(seen.length);
      expect(seen).to.include(listed.id);
    });

    it('are listed after a valid key only', async () => {
      for (const after of ['', 'nothing', '%00']) {
        const response = await bench.admin('GET', `/admin/keys?after=${after}`);
        expectError(response, {
          status: 400,
          message: 'after must be the id of a key',
          path: '/admin/keys',
        });
      }
    });

    it('require the admin token', async () => {
      const { key } = await bench.key('PRO');
      const headers = [
        {},
        { Authorization: 'Bearer wrong' },
        { Authorization: `Bearer ${key}` },
        { Authorization: bench.product.adminToken },
      ];
      for (const path of ['/admin/keys', '/admin/nothing']) {
        for (const authorization of headers) {
          const response = await sendRequest(bench.product.admin + path, {
            headers: authorization,
          });
          expectBody(response, 401, {
            statusCode: 401,
            message: 'Admin token required. Pass it as: Authorization: Bearer <ADMIN_TOKEN>',
            error: 'Unauthorized',
          });
          expect(response.headers['www-authenticate']).to.equal('Bearer');
        }
      }
    });

    it('are managed on the admin listener only', async () => {
      const headers = { Authorization: `Bearer ${bench.product.adminToken}` };
      for (const origin of [bench.product.api, bench.product.edge]) {
        const response = await sendRequest(`${origin}/admin/keys`, { headers });
        expect(response.status).to.equal(404);
      }
    });
  });
});
