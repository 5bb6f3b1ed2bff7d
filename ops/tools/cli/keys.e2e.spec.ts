import { expect } from 'chai';
import type { HttpResponse } from '../../test/support/http.js';
import { onService } from './testing/on-service.js';

describe('CLI: linklog keys, on a running service', () => {
  const { bench, text, json, createKey, expectFailure } = onService();

  const usage = (key: string): Promise<HttpResponse> => bench.api('/v2/usage', key);

  it('creates keys that are valid immediately, and shows them without the secret', async () => {
    const key = await createKey('hobby', '--account', 'cli-keys');
    expect(key).to.include({ name: 'a key', plan: 'HOBBY', account: 'cli-keys', active: true });
    expect(key.key).to.match(/^ll_[0-9A-Za-z]{38}$/);
    const response = await usage(key.key);
    expect([response.status, response.headers['x-ratelimit-limit']]).to.deep.equal([200, '300']);

    const { keys } = (await json('keys', 'list')) as { keys: { id: string }[] };
    expect(await json('--json', 'keys', 'list')).to.deep.equal({ keys });
    const shown = await json('keys', 'show', key.id);
    expect(keys.find(({ id }) => id === key.id)).to.deep.equal(shown);
    expect(shown).to.include({ id: key.id, plan: 'HOBBY', account: 'cli-keys' });
    expect(shown).to.not.have.property('key');
    expect(shown).to.have.nested.property('usage.minute.limit', 300);
  });

  it('prints keys as lines and tables', async () => {
    const created = await text('keys', 'create', '--name', 'für Menschen', '--plan', 'INDIE');
    const id = /^id +(\S+)$/m.exec(created)?.[1] ?? '';
    expect(created).to.match(/^name +für Menschen$/m);
    expect(created).to.match(/^key +ll_[0-9A-Za-z]{38}$/m);
    expect(created).to.match(/The key is shown only this once/);

    const list = await text('keys', 'list');
    expect(list).to.match(/^ID +NAME +PLAN +ACCOUNT +ACTIVE +CALLS +LINKS +QR CODES +CREATED\n/);
    expect(list).to.match(new RegExp(`^${id}  für Menschen +INDIE +default +yes +0 +0 +0 +`, 'm'));
    expect(await text('keys', 'show', id)).to.match(/^this minute +0 of 1,000 calls$/m);
    expect(await text('keys', 'change', id, '--name', 'new')).to.match(/^name +new$/m);
    expect(await text('keys', 'revoke', id, '--yes')).to.equal(`Revoked: new (${id})\n`);
  });

  it('changes the plan, and activates, deactivates and revokes keys', async () => {
    const { id, key } = await createKey('FREE');
    const change = (...options: readonly string[]) => json('keys', 'change', id, ...options);
    expect(await change('--plan', 'PRO')).to.include({ plan: 'PRO' });
    expect((await usage(key)).headers['x-ratelimit-limit']).to.equal('5000');
    expect(await change('--inactive', '--yes')).to.include({ active: false });
    expect((await usage(key)).status).to.equal(401);
    const back = { active: true, name: 'back', plan: 'PRO' };
    expect(await change('--active', '--name', 'back')).to.include(back);
    expect(await json('keys', 'revoke', id, '--yes')).to.include({ id, active: false });
    await expectFailure(['keys', 'change', id, '--active'], 1, 'This API key has been revoked');
  });

  it('sets scopes and an expiry', async () => {
    const options = ['--plan', 'FREE', '--scopes', 'qr:read,links:read', '--expires-in', '2m'];
    const created = await json('keys', 'create', '--name', 'reader', ...options);
    expect(created).to.deep.include({ scopes: ['links:read', 'qr:read'] });
    const { id, expiresAt, createdAt } = created as Record<string, string>;
    expect(Date.parse(expiresAt ?? '') - Date.parse(createdAt ?? '')).to.equal(120_000);
    const change = ['--scopes', 'stats:read', '--expires-in', 'never'];
    const changed = { scopes: ['stats:read'], expiresAt: null };
    expect(await json('keys', 'change', id ?? '', ...change)).to.deep.include(changed);
    expect(await text('keys', 'show', id ?? '')).to.match(/scopes +stats:read\n/);
  });

  it('names a key by its name', async () => {
    const { id } = await createKey('PRO', '--account', 'named', '--name', 'by name');
    expect(await json('keys', 'show', 'by name')).to.include({ id, name: 'by name' });
    expect(await json('keys', 'change', 'by name', '--plan', 'HOBBY')).to.include({ id });
    expect(await json('console', '--key', 'by name')).to.have.nested.property('key.id', id);
    const { id: other } = await createKey('PRO', '--name', 'by name');
    await json('keys', 'change', other, '--inactive', '--yes');
    await expectFailure(
      ['keys', 'revoke', 'by name', '--yes'],
      1,
      `2 keys have the name "by name": use the id, ${id} (active) or ${other} (inactive)`,
    );
  });
});
