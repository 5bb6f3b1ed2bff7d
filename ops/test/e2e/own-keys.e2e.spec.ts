import { expect } from 'chai';
import pLimit from 'p-limit';
import { scopeNames, type Scope } from '../../../schemas/scopes.js';
import {
  sendRequest,
  concurrently,
  statuses,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import {
  destination,
  expectBody,
  expectError,
  invalidKey,
  lacking,
  timestampPattern,
  productFixture,
} from './harness.js';

interface OwnKey {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly active: boolean;
  readonly rootId: string;
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

describe('command API: keys that users create', () => {
  const bench = productFixture();
  let accounts = 0;

  /** Creates a root key in a new account. */
  const newRoot = (
    plan: 'FREE' | 'PRO' = 'PRO',
    more: { readonly scopes?: readonly Scope[]; readonly expiresIn?: number } = {},
  ): Promise<IssuedKey> => {
    accounts += 1;
    return bench.key(plan, { account: `keys-${accounts}`, ...more });
  };

  const keys = (
    { key }: Pick<IssuedKey, 'key'>,
    method: string,
    path = '',
    body?: unknown,
  ): Promise<HttpResponse> =>
    bench.api(`/v2/keys${path}`, key, { method, ...(body !== undefined && { body }) });

  const createKey = async (by: Pick<IssuedKey, 'key'>, body: object = {}): Promise<OwnKey> => {
    const response = await keys(by, 'POST', '', { name: 'made', ...body });
    expect(response.status, response.text).to.equal(201);
    return response.json() as OwnKey;
  };

  const listed = async (by: Pick<IssuedKey, 'key'>, query = '') => {
    const response = await keys(by, 'GET', query);
    expect(response.status, response.text).to.equal(200);
    return response.json() as { readonly keys: readonly OwnKey[]; readonly next: string | null };
  };

  /** Sends concurrent calls, alternating keys and APIs. */
  const callsOf = (callers: readonly { readonly key: string }[], count: number, path: string) =>
    concurrently(count, (index) => {
      const { apis } = bench.product;
      const { key = '' } = callers[index % callers.length] ?? {};
      const options: RequestOptions = { headers: { Authorization: `Bearer ${key}` } };
      return sendRequest(`${apis[index % apis.length] ?? ''}${path}`, options);
    });

  const works = async ({ key }: Pick<IssuedKey, 'key'>): Promise<boolean> => {
    const responses = await callsOf([{ key }], bench.product.apis.length, '/v2/usage');
    const [first] = responses;
    if (!first) throw new Error('the product has no API');
    for (const response of responses) expect(response.status).to.equal(first.status);
    if (first.status !== 200) expectBody(first, 401, invalidKey);
    return first.status === 200;
  };

  const expectNotFound = (response: HttpResponse, method: string, id: string, more = ''): void => {
    const path = `/v2/keys/${id}${more}`;
    expectError(response, { status: 404, message: 'API key not found', path, method });
  };

  describe('POST /v2/keys', () => {
    it('creates a key with exactly these fields, shown once, that works on every node', async () => {
      const root = await newRoot('FREE');
      const response = await keys(root, 'POST', '', { name: 'mine', extra: 1, plan: 'PRO' });
      const created = response.json() as OwnKey;
      const usage = (await bench.api('/v2/usage', root.key)).json();
      expectBody(response, 201, {
        id: created.id,
        key: created.key,
        name: 'mine',
        plan: 'FREE',
        scopes: scopeNames,
        active: true,
        rootId: root.id,
        expiresAt: null,
        createdAt: created.createdAt,
        lastUsedAt: null,
        usage,
      });
      expect(created.key).to.match(/^ll_[0-9A-Za-z]{38}$/);
      expect(created.createdAt).to.match(timestampPattern);
      expect(await works(created)).to.equal(true);
      const used = await bench.api('/v2/usage', created.key);
      expect(used.headers).to.include({ 'x-api-key-name': 'mine', 'x-ratelimit-limit': '60' });
      expect((await keys(root, 'GET')).text).not.to.include(created.key);
    });

    it('grants only scopes of the parent, by default all', async () => {
      const scopes: readonly Scope[] = ['links:read', 'stats:read', 'keys:manage'];
      const root = await newRoot('PRO', { scopes });
      expect((await createKey(root)).scopes).to.deep.equal(scopes);
      const child = await createKey(root, { scopes: ['stats:read', 'links:read', 'stats:read'] });
      expect(child.scopes).to.deep.equal(['links:read', 'stats:read']);
      expect((await createKey(root, { scopes: [] })).scopes).to.deep.equal([]);
      const more = await keys(root, 'POST', '', { name: 'a', scopes: ['links:read', 'qr:read'] });
      expectBody(more, 403, lacking('qr:read'));
      expectBody(await keys(child, 'POST', '', { name: 'a' }), 403, lacking('keys:manage'));
    });

    it('lets no key expire after its parent', async () => {
      const seconds = async (by: Pick<IssuedKey, 'key'>, expiresIn?: number) => {
        const { expiresAt, createdAt } = await createKey(by, { expiresIn });
        return expiresAt === null ? null : Date.parse(expiresAt) - Date.parse(createdAt);
      };
      const endless = await newRoot();
      expect(await seconds(endless)).to.equal(null);
      expect(await seconds(endless, 60)).to.equal(60_000);
      const ending = await newRoot('PRO', { expiresIn: 1_000 });
      expect(await seconds(ending, 60)).to.equal(60_000);
      const { expiresAt } = (await listed(ending)).keys[0] ?? {};
      for (const expiresIn of [undefined, null, 5_000]) {
        expect((await createKey(ending, { expiresIn })).expiresAt).to.equal(expiresAt);
      }
    });

    const wrong: readonly [unknown, string][] = [
      [{}, 'name must have 1 to 100 characters, none of them control characters'],
      [{ name: '' }, 'name must have 1 to 100 characters, none of them control characters'],
      [[], 'name must have 1 to 100 characters, none of them control characters'],
      [{ name: 'a', scopes: ['all'] }, `scopes must be a list of ${scopeNames.join(', ')}`],
      [{ name: 'a', expiresIn: 59 }, 'expiresIn must be at least 60 seconds (1 minute)'],
      [{ name: 'a', expiresIn: '60' }, 'expiresIn must be a number'],
    ];
    for (const [body, message] of wrong) {
      it(`is 400 for ${JSON.stringify(body)}`, async () => {
        const response = await keys(await newRoot(), 'POST', '', body);
        expectError(response, { status: 400, message, path: '/v2/keys', method: 'POST' });
      });
    }

    it('creates exactly 100 live keys per account for concurrent requests', async () => {
      const root = await newRoot();
      const first = await createKey(root);
      // More at the same time would get 503 on a busy machine.
      const responses = await pLimit(30).map(Array.from({ length: 120 }), () =>
        keys(root, 'POST', '', { name: 'concurrent' }),
      );
      expect(statuses(responses)).to.deep.equal({ 201: 98, 400: 22 });
      const message = 'At most 100 keys an account';
      for (const response of responses.filter(({ status }) => status === 400)) {
        expectError(response, { status: 400, message, path: '/v2/keys', method: 'POST' });
      }
      expect((await keys(root, 'DELETE', `/${first.id}`)).status).to.equal(204);
      await createKey(root);
      expect((await keys(root, 'POST', '', { name: 'one more' })).status).to.equal(400);
    });
  });

  describe('GET /v2/keys', () => {
    it('lists the key and its descendants in pages', async () => {
      const root = await newRoot();
      const a = await createKey(root);
      const b = await createKey(a);
      const c = await createKey(root);
      const ids = async (by: Pick<IssuedKey, 'key'>) => (await listed(by)).keys.map(({ id }) => id);
      expect(await ids(root)).to.deep.equal([root.id, a.id, b.id, c.id]);
      expect(await ids(a)).to.deep.equal([a.id, b.id]);
      expect(await ids(b)).to.deep.equal([b.id]);
      const first = await listed(root, '?limit=3');
      expect(first.keys.map(({ id }) => id)).to.deep.equal([root.id, a.id, b.id]);
      const second = await listed(root, `?limit=3&after=${first.next ?? ''}`);
      expect(second).to.deep.include({ next: null });
      expect(second.keys.map(({ id }) => id)).to.deep.equal([c.id]);
      for (const query of ['?limit=0', '?limit=101', '?limit=x', '?after=x']) {
        expect((await keys(root, 'GET', query)).status, query).to.equal(400);
      }
    });

    it('returns the current state of each key, with the usage of the root and the minute of last use', async () => {
      const root = await newRoot();
      const child = await createKey(root, { name: 'child', scopes: ['links:create', 'qr:read'] });
      const before = Date.now();
      const { shortCode } = await bench.link(child.key);
      expect((await bench.api(`/v2/qr/${shortCode}`, child.key)).status).to.equal(200);
      const [own, below] = (await listed(root)).keys;
      const usage = (await bench.api('/v2/usage', root.key)).json();
      expect(usage).to.deep.include({ calls: { used: 2, limit: 500_000 } });
      expect(usage).to.deep.include({ links: { used: 1, limit: 3_000 } });
      expect(usage).to.deep.include({ qrCodes: { used: 1, limit: 3_000 } });
      const seen = { lastUsedAt: below?.lastUsedAt, usage };
      expect({ ...below, key: child.key }).to.deep.equal({ ...child, ...seen });
      expect(own).to.deep.include({ id: root.id, rootId: root.id, usage, scopes: scopeNames });
      for (const { lastUsedAt } of [own, below] as OwnKey[]) {
        const minute = Date.parse(lastUsedAt ?? '');
        expect(minute % 60_000).to.equal(0);
        expect(minute).to.be.within(before - 60_000, Date.now());
      }
    });
  });

  describe('PATCH /v2/keys/:id', () => {
    it('changes name, scopes and active, immediately on every node', async () => {
      const root = await newRoot();
      const child = await createKey(root);
      const patch = (body: object) => keys(root, 'PATCH', `/${child.id}`, body);
      const renamed = await patch({ name: 'renamed', scopes: ['qr:read'], active: null });
      expect(renamed.status).to.equal(200);
      const seen = renamed.json() as OwnKey;
      expect({ ...seen, key: child.key }).to.deep.equal({
        ...{ ...child, name: 'renamed', scopes: ['qr:read'], lastUsedAt: seen.lastUsedAt },
        usage: (await bench.api('/v2/usage', root.key)).json(),
      });
      const stats = await bench.api('/v2/stats/nothing', child.key);
      expectBody(stats, 403, lacking('stats:read'));
      expect(stats.headers['x-api-key-name']).to.equal('renamed');
      expect((await patch({ active: false })).json()).to.include({ active: false });
      expect(await works(child)).to.equal(false);
      expect((await patch({ active: true })).json()).to.include({ active: true });
      expect(await works(child)).to.equal(true);
    });

    it('manages the key itself and its descendants: 404 for all others', async () => {
      const root = await newRoot();
      const child = await createKey(root);
      const sibling = await createKey(root);
      const grandchild = await createKey(child);
      const stranger = await newRoot();
      const sameAccount = await bench.key('PRO', { account: root.account });
      const rename = { name: 'renamed' };
      for (const { id } of [child, grandchild]) {
        expect((await keys(child, 'PATCH', `/${id}`, rename)).status).to.equal(200);
      }
      const others = [root, sibling, stranger, sameAccount].map(({ id }) => id);
      for (const id of [...others, 'nothing', '01990000-0000-7000-8000-000000000000']) {
        expectNotFound(await keys(child, 'PATCH', `/${id}`, rename), 'PATCH', id);
        expectNotFound(await keys(child, 'POST', `/${id}/rotate`, {}), 'POST', id, '/rotate');
        expectNotFound(await keys(child, 'DELETE', `/${id}`), 'DELETE', id);
      }
    });

    it('grants only scopes of the key, also to itself', async () => {
      const root = await newRoot();
      const scopes = ['links:read', 'keys:manage'];
      const child = await createKey(root, { scopes });
      const grandchild = await createKey(child, { scopes: [] });
      for (const { id } of [child, grandchild]) {
        const response = await keys(child, 'PATCH', `/${id}`, {
          scopes: ['links:read', 'qr:read'],
        });
        expectBody(response, 403, lacking('qr:read'));
      }
      const less = await keys(child, 'PATCH', `/${child.id}`, { scopes: ['keys:manage'] });
      expect(less.json()).to.deep.include({ scopes: ['keys:manage'] });
      const again = await keys(child, 'PATCH', `/${child.id}`, { scopes });
      expectBody(again, 403, lacking('links:read'));
    });

    it('does not reactivate a key that an operator deactivated', async () => {
      const root = await newRoot();
      const child = await createKey(root);
      await bench.admin('PATCH', `/admin/keys/${child.id}`, { active: false });
      const response = await keys(root, 'PATCH', `/${child.id}`, { active: true });
      const message = 'An operator switched this key off';
      const path = `/v2/keys/${child.id}`;
      expectError(response, { status: 403, message, path, method: 'PATCH' });
      expect((await keys(root, 'PATCH', `/${child.id}`, { active: false })).status).to.equal(200);
      await bench.admin('PATCH', `/admin/keys/${child.id}`, { active: true });
      expect(await works(child)).to.equal(true);
    });

    it('does not reactivate a key that an ancestor deactivated', async () => {
      const root = await newRoot();
      const parent = await createKey(root);
      const child = await createKey(parent);
      const path = `/v2/keys/${child.id}`;
      const activate = (by: OwnKey | IssuedKey, active: boolean) =>
        keys(by, 'PATCH', `/${child.id}`, { active });
      for (const active of [false, true]) {
        expect((await activate(parent, active)).json()).to.include({ active });
      }
      await activate(root, false);
      const message = 'A key above this one deactivated it';
      const refused = await activate(parent, true);
      expectError(refused, { status: 403, message, path, method: 'PATCH' });
      expect((await activate(root, true)).json()).to.include({ active: true });
      expect(await works(child)).to.equal(true);
    });

    it('is 400 without a change', async () => {
      const root = await newRoot();
      const path = `/v2/keys/${root.id}`;
      for (const body of [{}, { name: null }, { plan: 'PRO' }, []]) {
        const response = await keys(root, 'PATCH', `/${root.id}`, body);
        expectError(response, { status: 400, message: 'Nothing to change', path, method: 'PATCH' });
      }
    });
  });

  describe('POST /v2/keys/:id/rotate', () => {
    it('returns a new secret with the same id, limits and usage; the old one ends', async () => {
      const root = await newRoot('FREE');
      const child = await createKey(root);
      await callsOf([child], 10, '/v2/usage');
      const response = await keys(root, 'POST', `/${child.id}/rotate`, {});
      expect(response.status).to.equal(200);
      const rotated = response.json() as OwnKey;
      expect(rotated).to.include({ id: child.id, name: child.name, rootId: root.id });
      expect(rotated.key)
        .to.match(/^ll_[0-9A-Za-z]{38}$/)
        .and.not.equal(child.key);
      expect(await works(child)).to.equal(false);
      expect(await works(rotated)).to.equal(true);
      const left = (await bench.api('/v2/usage', rotated.key)).headers['x-ratelimit-remaining'];
      expect(Number(left)).to.be.below(60 - 13);
    });

    it('accepts old secrets within the overlap; the next rotation may end them', async () => {
      const root = await newRoot();
      const rotate = async (overlapSeconds: number) => {
        const response = await keys(root, 'POST', `/${child.id}/rotate`, { overlapSeconds });
        return response.json() as OwnKey;
      };
      const child = await createKey(root);
      const second = await rotate(604_800);
      const third = await rotate(600);
      expect(await Promise.all([child, second, third].map(works))).to.deep.equal([
        ...[true, true, true],
      ]);
      const fourth = await rotate(0);
      const rotations = [child, second, third, fourth];
      expect(await Promise.all(rotations.map(works))).to.deep.equal([false, false, false, true]);
    });

    it('is 400 for an overlap beyond a week', async () => {
      const root = await newRoot();
      const message = 'overlapSeconds must be between 0 and 604800';
      for (const overlapSeconds of [-1, 604_801, 1.5, '1']) {
        const response = await keys(root, 'POST', `/${root.id}/rotate`, { overlapSeconds });
        const path = `/v2/keys/${root.id}/rotate`;
        expectError(response, { status: 400, message, path, method: 'POST' });
      }
      expect(await works(root)).to.equal(true);
    });
  });

  describe('a descendant with more rights than the key itself', () => {
    const expectNotManageable = async (by: OwnKey, { id }: OwnKey): Promise<void> => {
      expectNotFound(await keys(by, 'POST', `/${id}/rotate`, {}), 'POST', id, '/rotate');
      expectNotFound(await keys(by, 'DELETE', `/${id}`), 'DELETE', id);
      for (const change of [{ name: 'renamed' }, { active: false }, { scopes: [] }]) {
        expectNotFound(await keys(by, 'PATCH', `/${id}`, change), 'PATCH', id);
      }
    };

    it('with more scopes is 404 for every call that manages it', async () => {
      const root = await newRoot();
      const parent = await createKey(root);
      const child = await createKey(parent, { scopes: ['links:read', 'links:write'] });
      await keys(root, 'PATCH', `/${parent.id}`, { scopes: ['keys:manage', 'links:read'] });
      await expectNotManageable(parent, child);
      expect(await works(child)).to.equal(true);
      expect((await keys(root, 'POST', `/${child.id}/rotate`, {})).status).to.equal(200);
      await keys(root, 'PATCH', `/${child.id}`, { scopes: ['links:read'] });
      expect((await keys(parent, 'POST', `/${child.id}/rotate`, {})).status).to.equal(200);
    });

    it('with a later expiry is 404 for every call that manages it', async () => {
      const root = await newRoot();
      const parent = await createKey(root);
      const endless = await createKey(parent);
      const earlier = await createKey(parent, { expiresIn: 600 });
      await bench.admin('PATCH', `/admin/keys/${parent.id}`, { expiresIn: 3_600 });
      await expectNotManageable(parent, endless);
      expect((await keys(parent, 'DELETE', `/${earlier.id}`)).status).to.equal(204);
      expect((await keys(root, 'DELETE', `/${endless.id}`)).status).to.equal(204);
    });
  });

  describe('DELETE /v2/keys/:id', () => {
    it('revokes permanently, and keeps the descendants', async () => {
      const root = await newRoot();
      const child = await createKey(root);
      const grandchild = await createKey(child);
      for (let time = 0; time < 2; time += 1) {
        const response = await keys(root, 'DELETE', `/${child.id}`);
        expect([response.status, response.text]).to.deep.equal([204, '']);
        expect(response.headers).to.have.property('x-ratelimit-limit');
      }
      expect(await works(child)).to.equal(false);
      expect(await works(grandchild)).to.equal(true);
      const left = (await listed(root)).keys.map(({ id }) => id);
      expect(left).to.deep.equal([root.id, grandchild.id]);
      const change = await keys(root, 'PATCH', `/${child.id}`, { active: true });
      expectNotFound(change, 'PATCH', child.id);
    });

    it('rejects every call of a child after the root is revoked', async () => {
      const root = await newRoot();
      const child = await createKey(root);
      expect((await keys(root, 'DELETE', `/${root.id}`)).status).to.equal(204);
      expect(statuses(await callsOf([root, child], 20, '/v2/usage'))).to.deep.equal({ 401: 20 });
    });
  });

  describe('limits of a root and its descendants', () => {
    it('are those of one key: 60 calls a minute, exactly', async () => {
      const root = await newRoot('FREE');
      const child = await createKey(root);
      const family = [root, child, await createKey(child)];
      // Two calls created the children.
      const responses = await callsOf(family, 200, '/v2/stats/nothing');
      expect(statuses(responses)).to.deep.equal({ 404: 58, 429: 142 });
    });

    it('are those of one key: 35 links a month, exactly', async () => {
      const root = await newRoot('FREE');
      const family = [await createKey(root), await createKey(root), root];
      const responses = await concurrently(54, (index) =>
        bench.shorten(family[index % 3]?.key ?? '', { url: destination }),
      );
      expect(statuses(responses)).to.deep.equal({ 201: 35, 429: 19 });
      const seen = (await bench.admin('GET', `/admin/keys/${family[0]?.id ?? ''}`)).json();
      expect(seen).to.deep.include({ rootId: root.id, plan: 'FREE' });
      expect(seen).to.have.nested.property('usage.month.links', 35);
    });

    it('do not include these calls in the monthly calls', async () => {
      const root = await newRoot();
      const { id } = await createKey(root);
      await keys(root, 'PATCH', `/${id}`, { name: 'a' });
      await keys(root, 'POST', `/${id}/rotate`, {});
      await keys(root, 'DELETE', `/${id}`);
      await listed(root);
      const usage = (await bench.api('/v2/usage', root.key)).json();
      expect(usage).to.deep.include({ calls: { used: 0, limit: 500_000 } });
    });

    it('follow the plan of the root; a derived key has no plan', async () => {
      const root = await newRoot('FREE');
      const child = await createKey(root);
      await bench.admin('PATCH', `/admin/keys/${root.id}`, { plan: 'HOBBY' });
      const response = await bench.api('/v2/usage', child.key);
      expect(response.headers['x-ratelimit-limit']).to.equal('300');
      expect(response.json()).to.include({ plan: 'HOBBY' });
      const refused = await bench.admin('PATCH', `/admin/keys/${child.id}`, { plan: 'PRO' });
      expect(refused.status).to.equal(409);
    });
  });
});
