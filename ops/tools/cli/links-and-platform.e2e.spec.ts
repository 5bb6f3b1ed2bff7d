import { expect } from 'chai';
import { ask } from '../../test/support/http.js';
import { eventually } from '../../test/support/waiting.js';
import { actorName } from './service.js';
import { onService } from './testing/on-service.js';

describe('CLI: command line, on a running service', () => {
  const { service, text, json, createKey, expectFailure, shorten, visit } = onService();

  it('shows and switches the platform', async () => {
    await json('platform', 'set', '--passwords', 'on');
    const on = { shortening: true, aliases: true, passwords: true, expiration: true, qr: true };
    const all = { maintenance: false, features: on };
    expect(await json('platform', 'show')).to.deep.equal(all);
    const off = { ...on, shortening: false, qr: false };
    expect(
      await json('platform', 'set', '--maintenance', 'on', '--shortening', 'OFF', '--qr', 'off'),
    ).to.deep.equal({ maintenance: true, features: off });
    expect(await text('platform', 'show')).to.equal(
      'maintenance  on\nshortening   off\naliases      on\npasswords    on\n' +
        'expiration   on\nqr           off\n',
    );
    const back = ['--maintenance', 'off', '--shortening', 'on', '--qr', 'on'];
    expect(await text('platform', 'set', ...back)).to.match(/^maintenance {2}off\n/);
    expect(await json('platform', 'show')).to.deep.equal(all);
  });

  it('blocks and unblocks links, and tells their history', async () => {
    const { key } = await createKey('PRO');
    const code = await shorten(key);
    await visit(code);
    const status = async () => (await ask(`${service().product.edge}/${code}`)).status;
    expect(await text('links', 'block', code, '--reason', 'phishing, reported')).to.equal(
      `Blocked: ${code}\n`,
    );
    await eventually('the link is blocked', async () => (await status()) === 410);
    expect(await json('links', 'unblock', code, '--reason', 'a mistake')).to.deep.equal({
      shortCode: code,
      blocked: false,
    });
    await eventually('the link redirects again', async () => (await status()) === 302);

    const { events } = (await json('links', 'history', code)) as {
      events: { type: string; actor: string; data: object }[];
    };
    expect(events.slice(1).map(({ type, actor, data }) => [type, actor, data])).to.deep.equal([
      ['linklog.LinkBlocked.v1', actorName(), { reason: 'phishing, reported' }],
      ['linklog.LinkUnblocked.v1', actorName(), { reason: 'a mistake' }],
    ]);
    const lines = (await text('links', 'history', code)).trimEnd().split('\n');
    expect(lines[0]).to.match(/^TIME +WHAT +WHO +WHY$/);
    expect(lines.slice(1).map((line) => line.split(/ {2,}/).slice(1))).to.deep.equal([
      ['LinkCreated', events[0]?.actor, 'https://example.com/'],
      ['LinkBlocked', actorName(), 'phishing, reported'],
      ['LinkUnblocked', actorName(), 'a mistake'],
    ]);
  });

  it('lets an account use a reserved alias, and no longer', async () => {
    expect(await json('aliases', 'allow', 'Docs', '--account', 'acme')).to.deep.equal({
      alias: 'docs',
      account: 'acme',
    });
    expect(await text('aliases', 'allow', 'docs', '--account', 'shop')).to.equal(
      'The account shop may use docs\n',
    );
    expect(await text('aliases', 'disallow', 'docs')).to.equal('Nobody may use docs\n');
    await expectFailure(['aliases', 'disallow', 'docs'], 1, 'Override not found');
  });
});
