import { expect } from 'chai';
import { readEvent } from '../../../schemas/events/codec.js';
import { actorName } from './service.js';
import { runOnTerminal } from '../../test/support/process.js';
import { onService, type Key } from './testing/on-service.js';

describe('CLI: command line, on a running service', () => {
  const { service, text, json, createKey, expectFailure, usage } = onService();

  describe('keys', () => {
    it('are created, valid immediately, and listed and shown without the secret', async () => {
      const key = await createKey('hobby', '--account', 'shop');
      expect(key).to.include({ name: 'a key', plan: 'HOBBY', account: 'shop', active: true });
      expect(key.key).to.match(/^ll_[0-9A-Za-z]{38}$/);
      const response = await usage(key.key);
      expect([response.status, response.headers['x-ratelimit-limit']]).to.deep.equal([200, '300']);

      const { keys } = (await json('keys', 'list')) as { keys: Key[] };
      expect(keys.map(({ name }) => name)).to.include('first-key');
      const listed = keys.find(({ id }) => id === key.id);
      const shown = await json('keys', 'show', key.id);
      expect(listed).to.deep.equal(shown);
      expect(shown).to.include({ id: key.id, plan: 'HOBBY', account: 'shop' });
      expect(shown).to.not.have.property('key');
      expect(shown).to.have.nested.property('usage.minute.limit', 300);
    });

    it('are printed as lines and tables', async () => {
      const created = await text('keys', 'create', '--name', 'für Menschen', '--plan', 'INDIE');
      const id = /^id +(\S+)$/m.exec(created)?.[1] ?? '';
      expect(created).to.match(/^name +für Menschen$/m);
      expect(created).to.match(/^key +ll_[0-9A-Za-z]{38}$/m);
      expect(created).to.match(/The key is shown only this once/);

      const list = await text('keys', 'list');
      expect(list).to.match(/^ID +NAME +PLAN +ACCOUNT +ACTIVE +CALLS +LINKS +QR CODES +CREATED\n/);
      expect(list).to.match(
        new RegExp(`^${id}  für Menschen +INDIE +default +yes +0 +0 +0 +`, 'm'),
      );
      expect(await text('keys', 'show', id)).to.match(/^this minute +0 of 1,000 calls$/m);
      expect(await text('keys', 'change', id, '--name', 'new')).to.match(/^name +new$/m);
      expect(await text('keys', 'revoke', id, '--yes')).to.equal(`Revoked: new (${id})\n`);
    });

    it('change plan, and are deactivated and activated', async () => {
      const { id, key } = await createKey('FREE');
      expect((await usage(key)).headers['x-ratelimit-limit']).to.equal('60');
      expect(await json('keys', 'change', id, '--plan', 'PRO')).to.include({ plan: 'PRO' });
      expect((await usage(key)).headers['x-ratelimit-limit']).to.equal('5000');
      expect(await json('keys', 'change', id, '--inactive', '--yes')).to.include({ active: false });
      expect((await usage(key)).status).to.equal(401);
      const changed = await json('keys', 'change', id, '--active', '--name', 'back');
      expect(changed).to.include({ active: true, name: 'back', plan: 'PRO' });
      expect((await usage(key)).status).to.equal(200);
    });

    it('are rejected permanently after a revocation', async () => {
      const { id, key } = await createKey('PRO');
      expect((await usage(key)).status).to.equal(200);
      expect(await json('keys', 'revoke', id, '--yes')).to.include({ id, active: false });
      expect((await usage(key)).status).to.equal(401);
      expect(await json('keys', 'revoke', id, '--yes')).to.include({ id, active: false });
      await expectFailure(['keys', 'change', id, '--active'], 1, 'This API key has been revoked');
    });

    it('have scopes and an expiry', async () => {
      const options = ['--plan', 'FREE', '--scopes', 'qr:read,links:read', '--expires-in', '2m'];
      const created = await json('keys', 'create', '--name', 'reader', ...options);
      expect(created).to.deep.include({ scopes: ['links:read', 'qr:read'] });
      const { id, expiresAt } = created as { id: string; expiresAt: string };
      expect(Date.parse(expiresAt)).to.be.within(Date.now(), Date.now() + 120_000);
      const change = ['--scopes', 'stats:read', '--expires-in', 'never'];
      expect(await json('keys', 'change', id, ...change)).to.deep.include({
        scopes: ['stats:read'],
        expiresAt: null,
      });
      expect(await text('keys', 'show', id)).to.match(/scopes +stats:read\n/);
      await expectFailure(
        ['keys', 'change', id, '--expires-in', 'soon'],
        2,
        '"soon" is not a duration: use 30d, 12h, 90m, 2w, or a number of seconds',
      );
    });

    it('record the actor of a change in the event', async () => {
      const { id } = await createKey('PRO');
      await json('keys', 'change', id, '--plan', 'FREE');
      await json('keys', 'revoke', id, '--yes');
      const { rows } = await service().pool.query<{ value: string }>(
        'SELECT value FROM log.events WHERE key = $1 ORDER BY record_offset',
        [id],
      );
      const events = rows.map(({ value }) => readEvent(value));
      expect(events.map(({ type, actor }) => [type, actor])).to.deep.equal([
        ['linklog.ApiKeyCreated.v3', actorName()],
        ['linklog.ApiKeyChanged.v4', actorName()],
        ['linklog.ApiKeyRevoked.v1', actorName()],
      ]);
    });
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
    expect(await json('keys', 'revoke', id, '--yes')).to.include({ id, active: false });
  });

  it('asks on a terminal before it revokes a key', async () => {
    const { id } = await createKey('PRO');
    const question = `The API rejects the key ${id} permanently.\nType yes to continue: `;
    const refused = await runOnTerminal(['keys', 'revoke', id], service().env, 'no\n');
    expect(refused.exitCode).to.equal(1);
    expect(refused.shown.replace('no\n', '')).to.equal(
      `${question}linklog: yes was not typed; nothing was changed\n`,
    );
    expect(await json('keys', 'show', id)).to.include({ active: true });
    const accepted = await runOnTerminal(['keys', 'revoke', id], service().env, 'yes\n');
    expect(accepted.exitCode).to.equal(0);
    expect(accepted.shown).to.include(`Revoked: a key (${id})\n`);
    const skipped = await runOnTerminal(['keys', 'revoke', id, '--yes'], service().env, '');
    expect(skipped).to.deep.equal({ exitCode: 0, shown: `Revoked: a key (${id})\n` });
  });

  it('accepts --json before the command', async () => {
    expect(await json('keys', 'list')).to.deep.equal(
      JSON.parse(await text('--json', 'keys', 'list')),
    );
    expect(await json('keys', 'list')).to.deep.equal(
      JSON.parse(await text('keys', '--json', 'list')),
    );
  });
});
