import { expect } from 'chai';
import { scopeNames, type Scope } from '../../../schemas/scopes.js';
import {
  sendRequest,
  concurrently,
  statuses,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import { expectBody, expectError, invalidKey, lacking, sharedProduct } from './harness.js';

interface OwnKey {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly rootId: string;
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

type Caller = Pick<IssuedKey, 'key'>;

describe('/v2/keys', () => {
  const bench = sharedProduct();
  let accounts = 0;

  /** Creates a root key in a new account. */
  const newRoot = (
    plan: 'FREE' | 'PRO' = 'PRO',
    more: { readonly scopes?: readonly Scope[]; readonly expiresIn?: number } = {},
  ): Promise<IssuedKey> => {
    accounts += 1;
    return bench.key(plan, { account: `own-keys-${accounts}`, ...more });
  };
  const keys = (
    { key }: Caller,
    method: string,
    path = '',
    body?: unknown,
  ): Promise<HttpResponse> =>
    bench.api(`/v2/keys${path}`, key, { method, ...(body !== undefined && { body }) });
  const createKey = async (by: Caller, body: object = {}): Promise<OwnKey> => {
    const response = await keys(by, 'POST', '', { name: 'made', ...body });
    expect(response.status, response.text).to.equal(201);
    return response.json() as OwnKey;
  };
  const listed = async (by: Caller, query = '') =>
    (await keys(by, 'GET', query)).json() as {
      readonly keys: readonly OwnKey[];
      readonly next: string | null;
    };
  const change = (by: Caller, { id }: { readonly id: string }, body: object) =>
    keys(by, 'PATCH', `/${id}`, body);
  const rotate = (by: Caller, { id }: { readonly id: string }, body: object = {}) =>
    keys(by, 'POST', `/${id}/rotate`, body);
  const revoke = (by: Caller, { id }: { readonly id: string }) => keys(by, 'DELETE', `/${id}`);

  /** Sends concurrent calls, alternating keys and APIs. */
  const callsOf = (callers: readonly Caller[], count: number, path: string) =>
    concurrently(count, (index) => {
      const { apis } = bench.product;
      const { key = '' } = callers[index % callers.length] ?? {};
      const options: RequestOptions = { headers: { Authorization: `Bearer ${key}` } };
      return sendRequest(`${apis[index % apis.length] ?? ''}${path}`, options);
    });
  const works = async (caller: Caller): Promise<boolean> => {
    const [first, ...others] = await callsOf([caller], bench.product.apis.length, '/v2/usage');
    if (!first) throw new Error('the product has no API');
    for (const { status } of others) expect(status).to.equal(first.status);
    if (first.status !== 200) expectBody(first, 401, invalidKey);
    return first.status === 200;
  };
  const expectNotFound = (response: HttpResponse): void => {
    expect(response.json()).to.include({ statusCode: 404, message: 'API key not found' });
  };
  const idsOf = ({ keys: found }: Awaited<ReturnType<typeof listed>>) => found.map(({ id }) => id);

  it('creates a key that is shown once and works on every node', async () => {
    const root = await newRoot('FREE');
    const response = await keys(root, 'POST', '', { name: 'mine', extra: 1, plan: 'PRO' });
    const { key, ...created } = response.json() as OwnKey;
    expectBody(response, 201, {
      ...{ id: created.id, key, name: 'mine', plan: 'FREE', scopes: scopeNames, active: true },
      ...{ suspended: false, deactivatedAbove: false },
      ...{ rootId: root.id, expiresAt: null, createdAt: created.createdAt, lastUsedAt: null },
      usage: (await bench.api('/v2/usage', root.key)).json(),
    });
    expect(key).to.match(/^ll_[0-9A-Za-z]{38}$/);
    expect(await works({ key })).to.equal(true);
    const used = await bench.api('/v2/usage', key);
    expect(used.headers).to.include({ 'x-api-key-name': 'mine', 'x-ratelimit-limit': '60' });
    expect((await keys(root, 'GET')).text).not.to.include(key);
    const invalid = await keys(root, 'POST', '', { name: 'a', expiresIn: 59 });
    expectError(invalid, {
      ...{ status: 400, message: 'expiresIn must be at least 60 seconds (1 minute)' },
      ...{ path: '/v2/keys', method: 'POST' },
    });
  });

  it('lists each key with the usage of the root and the minute of its last use', async () => {
    const root = await newRoot();
    const child = await createKey(root, { name: 'child', scopes: ['links:create', 'qr:read'] });
    const before = Date.now();
    const { shortCode } = await bench.link(child.key);
    expect((await bench.api(`/v2/qr/${shortCode}`, child.key)).status).to.equal(200);
    const [own, below] = (await listed(root)).keys;
    const usage = (await bench.api('/v2/usage', root.key)).json();
    expect(await bench.usage(root.key)).to.deep.equal({ calls: 2, links: 1, qrCodes: 1 });
    const seen = { lastUsedAt: below?.lastUsedAt, usage };
    expect({ ...below, key: child.key }).to.deep.equal({ ...child, ...seen });
    expect(own).to.deep.include({ id: root.id, rootId: root.id, usage, scopes: scopeNames });
    for (const { lastUsedAt } of [own, below] as OwnKey[]) {
      const minute = Date.parse(lastUsedAt ?? '');
      expect(minute % 60_000).to.equal(0);
      expect(minute).to.be.within(before - 60_000, Date.now());
    }
  });

  it('changes name, scopes and active, immediately on every node', async () => {
    const root = await newRoot();
    const child = await createKey(root);
    const renamed = await change(root, child, { name: 'renamed', scopes: ['qr:read'] });
    expect(renamed.json()).to.deep.include({ name: 'renamed', scopes: ['qr:read'] });
    const stats = await bench.api('/v2/stats/nothing', child.key);
    expectBody(stats, 403, lacking('stats:read'));
    expect(stats.headers['x-api-key-name']).to.equal('renamed');
    for (const active of [false, true]) {
      expect((await change(root, child, { active })).json()).to.include({ active });
      expect(await works(child)).to.equal(active);
    }
  });

  it('manages the key itself and its descendants only, with at most its own scopes', async () => {
    const root = await newRoot();
    const child = await createKey(root, { scopes: ['links:read', 'keys:manage'] });
    const grandchild = await createKey(child, { scopes: [] });
    expect(idsOf(await listed(child))).to.deep.equal([child.id, grandchild.id]);
    const first = await listed(root, '?limit=2');
    expect(idsOf(await listed(root, `?after=${first.next ?? ''}`))).to.deep.equal([grandchild.id]);
    const response = await change(child, grandchild, { scopes: ['links:read', 'qr:read'] });
    expectBody(response, 403, lacking('qr:read'));
    expectNotFound(await change(child, root, { name: 'renamed' }));
    expectNotFound(await rotate(child, await newRoot()));
    expectNotFound(await revoke(child, { id: 'nothing' }));
    await change(root, grandchild, { active: false });
    for (const [by, deactivatedAbove] of [
      [child, true],
      [root, false],
    ] as const) {
      const below = (await listed(by)).keys.at(-1);
      expect(below).to.include({ id: grandchild.id, active: false, deactivatedAbove });
    }
    expect((await change(child, grandchild, { active: true })).status).to.equal(403);
    await bench.admin('PATCH', `/admin/keys/${child.id}`, { active: false });
    expect((await change(root, child, { active: true })).json()).to.include({
      ...{ statusCode: 403, message: 'An operator switched this key off' },
    });
    const [, switchedOff] = (await listed(root)).keys;
    expect(switchedOff).to.include({ id: child.id, active: false, suspended: true });
  });

  it('rotates a secret: the earlier ones end after the overlap, the limits stay', async () => {
    const root = await newRoot('FREE');
    const child = await createKey(root);
    await callsOf([child], 10, '/v2/usage');
    const response = await rotate(root, child);
    const rotated = response.json() as OwnKey;
    expect(rotated).to.include({ id: child.id, name: child.name, rootId: root.id });
    expect(await works(child)).to.equal(false);
    expect(await works(rotated)).to.equal(true);
    const left = (await bench.api('/v2/usage', rotated.key)).headers['x-ratelimit-remaining'];
    expect(Number(left)).to.be.below(60 - 12);
    const second = (await rotate(root, child, { overlapSeconds: 604_800 })).json() as OwnKey;
    expect(await Promise.all([rotated, second].map(works))).to.deep.equal([true, true]);
    await rotate(root, child, { overlapSeconds: 0 });
    expect(await Promise.all([rotated, second].map(works))).to.deep.equal([false, false]);
    const beyond = await rotate(root, child, { overlapSeconds: 604_801 });
    expect(beyond.json()).to.include({ message: 'overlapSeconds must be between 0 and 604800' });
  });

  it('revokes a key permanently: its descendants stay, those of a root end', async () => {
    const root = await newRoot();
    const child = await createKey(root);
    const grandchild = await createKey(child);
    for (let time = 0; time < 2; time += 1) {
      const response = await revoke(root, child);
      expect([response.status, response.text]).to.deep.equal([204, '']);
    }
    expect([await works(child), await works(grandchild)]).to.deep.equal([false, true]);
    expect((await listed(root)).keys.map(({ id }) => id)).to.deep.equal([root.id, grandchild.id]);
    expectNotFound(await change(root, child, { active: true }));
    expect((await revoke(root, root)).status).to.equal(204);
    const responses = await callsOf([root, grandchild], 20, '/v2/usage');
    expect(statuses(responses)).to.deep.equal({ 401: 20 });
  });

  describe('shares the limits of a root and its descendants', () => {
    it('without a monthly call for the management of keys, and with the plan of the root', async () => {
      const root = await newRoot('FREE');
      const child = await createKey(root);
      await change(root, child, { name: 'a' });
      await rotate(root, child, { overlapSeconds: 600 });
      await listed(root);
      expect(await bench.usage(root.key)).to.include({ calls: 0 });
      await bench.admin('PATCH', `/admin/keys/${root.id}`, { plan: 'HOBBY' });
      const response = await bench.api('/v2/usage', child.key);
      expect(response.headers['x-ratelimit-limit']).to.equal('300');
      expect(response.json()).to.include({ plan: 'HOBBY' });
      const refused = await bench.admin('PATCH', `/admin/keys/${child.id}`, { plan: 'PRO' });
      expect(refused.status).to.equal(409);
    });
  });
});
