import { expect } from 'chai';
import { sendRequest } from '../../test/support/http.js';
import { parseCsv } from '../../../schemas/testing/csv.js';
import { runIntoClosedPipe, runOnTerminal, startLinklogCli } from '../../test/support/process.js';
import { eventually, eventuallyPasses } from '../../test/support/waiting.js';
import { actorName } from './service.js';
import { onService } from './testing/on-service.js';

describe('CLI: command line, on a running service', () => {
  const { service, text, json, createKey, expectFailure, shorten, visit } = onService();

  it('shows and switches the platform', async () => {
    await json('platform', 'set', '--passwords', 'on');
    const on = { shortening: true, aliases: true, passwords: true, expiration: true, qr: true };
    const initial = { maintenance: false, features: on };
    expect(await json('platform', 'show')).to.deep.equal(initial);
    const off = { ...on, shortening: false, qr: false };
    expect(
      await json(
        ...[
          'platform',
          'set',
          '--maintenance',
          'on',
          '--shortening',
          'OFF',
          '--qr',
          'off',
          '--yes',
        ],
      ),
    ).to.deep.equal({ maintenance: true, features: off });
    expect(await text('platform', 'show')).to.equal(
      'maintenance  on\nshortening   off\naliases      on\npasswords    on\n' +
        'expiration   on\nqr           off\n',
    );
    const back = ['--maintenance', 'off', '--shortening', 'on', '--qr', 'on'];
    expect(await text('platform', 'set', ...back)).to.match(/^maintenance {2}off\n/);
    expect(await json('platform', 'show')).to.deep.equal(initial);
  });

  it('asks for the word maintenance on a terminal', async () => {
    const args = ['platform', 'set', '--maintenance', 'on'];
    const refused = await runOnTerminal(args, service().env, 'yes\n');
    expect(refused.exitCode).to.equal(1);
    expect(refused.shown).to.include(
      'The API and all short links return 503 until maintenance is off.\nType maintenance to continue: ',
    );
    expect(await json('platform', 'show')).to.include({ maintenance: false });
    const accepted = await runOnTerminal(args, service().env, 'maintenance\n');
    expect(accepted.exitCode).to.equal(0);
    expect(accepted.shown).to.match(/continue: maintenance {2}on\n/);
    expect(await json('platform', 'set', '--maintenance', 'off')).to.include({
      maintenance: false,
    });
  });

  it('creates links, and prints their short URLs', async () => {
    const url = 'https://created.example/';
    const shortUrl = (await text('links', 'create', url)).trimEnd();
    expect((await sendRequest(shortUrl)).headers.location).to.equal(url);
    // Accounts may not use this alias.
    const options = ['--alias', 'login', '--title', 'a b', '--tag', 'one', '--tag', 'two'];
    const ends = ['--expires-in', '30d', '--max-clicks', '5', '--account', 'created'];
    const created = await json('links', 'create', url, ...options, ...ends);
    expect(created).to.deep.include({
      ...{
        shortCode: 'login',
        title: 'a b',
        tags: ['one', 'two'],
        maxClicks: 5,
        account: 'created',
      },
    });
    const { createdAt, expiresAt } = created as { createdAt: string; expiresAt: string };
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).to.equal(30 * 86_400_000);
    const input = 'open sesame\n';
    const args = ['links', 'create', url, '--alias', 'locked', '--password'];
    const locked = await startLinklogCli(args, service().env, undefined, input).ended;
    expect(locked).to.include({ exitCode: 0, stderr: '' });
    expect(await json('links', 'show', 'locked')).to.include({ hasPassword: true });
    await expectFailure(['links', 'create', url, '--alias', 'login'], 1, 'Alias is already taken');

    const list = ['links', 'list', '--account', 'created', '--csv'];
    await eventuallyPasses(async () => {
      const [head = [], ...rows] = parseCsv(await text(...list));
      expect(rows).to.have.length(1);
      expect(Object.fromEntries(head.map((name, index) => [name, rows[0]?.[index]]))).to.include({
        ...{ domain: '', shortCode: 'login', account: 'created', status: 'active', url },
        ...{ title: 'a b', tags: 'one,two', clickCount: '0', createdAt, expiresAt, maxClicks: '5' },
      });
    });
  });

  it('records the name of --actor, else of the user of sudo', async () => {
    const code = (await json('links', 'create', 'https://example.com/')) as { shortCode: string };
    const actor = 'Zoë Müller 100%';
    await text('links', 'disable', code.shortCode, '--actor', actor);
    const sudo = { ...service().env, SUDO_USER: 'ada lovelace' };
    const enable = ['links', 'enable', code.shortCode];
    expect((await startLinklogCli(enable, sudo).ended).exitCode).to.equal(0);
    const named = ['--actor', 'maria', 'links', 'disable', code.shortCode];
    expect((await startLinklogCli(named, sudo).ended).exitCode).to.equal(0);
    const { events } = (await json('links', 'history', code.shortCode)) as {
      events: { actor: string }[];
    };
    expect(events.map((event) => event.actor)).to.deep.equal([
      ...[actorName(), actor, 'ada lovelace', 'maria'],
    ]);
  });

  it('succeeds if the reader of its output exits, with every kind of output', async () => {
    for (const args of [
      ['links', 'list'],
      ['keys', 'list', '--json'],
      ['platform', 'show'],
      ['export', '--account', 'created'],
      ['audit', 'replay'],
      ['audit', 'history', 'login'],
      ['completion', 'fish'],
      ['--help'],
    ]) {
      const output = await runIntoClosedPipe(args, service().env);
      expect(output, args.join(' ')).to.deep.equal({ exitCode: 0, stdout: '', stderr: '' });
    }
    // Part of a backup is useless.
    const backup = await runIntoClosedPipe(['backup', '-'], service().env);
    expect(backup).to.include({ exitCode: 1, stdout: '' });
    expect(backup.stderr).to.match(
      /^(?:backup: .+\n)*linklog: the reader of the backup exited; the backup is incomplete\n$/,
    );
  });

  it('blocks and unblocks links, and shows their history', async () => {
    const { key } = await createKey('PRO');
    const code = await shorten(key);
    await visit(code);
    const status = async () => (await sendRequest(`${service().product.edge}/${code}`)).status;
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

  it('shows, edits, disables, enables and deletes links', async function () {
    // Starts about twenty processes.
    this.timeout(90_000);
    const { key } = await createKey('PRO', '--account', 'shop');
    const code = await shorten(key);
    const shown = (await json('links', 'show', ` http://sho.rt/${code}+`)) as {
      readonly createdAt: string;
    };
    expect(shown).to.include({ shortCode: code, account: 'shop', status: 'active', version: 1 });
    const url = 'https://example.com/b';
    const words = ['--url', url, '--title', 'a b', '--note', 'a\nb'];
    const tags = ['--tag', 'x', '--tag', 'y', '--expires-in', '3600'];
    expect(await json('links', 'edit', code, ...words, ...tags)).to.deep.include({
      ...{ url, title: 'a b', note: 'a\nb', tags: ['x', 'y'], version: 3 },
    });
    const lines = (await text('links', 'show', code)).split('\n');
    expect(lines).to.include.members([
      `short code  ${code}`,
      `url         ${url}`,
      'account     shop',
      'status      active',
      'note        a\\u000ab',
      'tags        x, y',
      'clicks      0',
      `created     ${shown.createdAt}`,
      'version     3',
    ]);
    const change = ['links', 'edit', code, '--password'];
    const input = 'open sesame\nnever read';
    const output = await startLinklogCli(change, service().env, undefined, input).ended;
    expect([output.exitCode, output.stderr]).to.deep.equal([0, '']);
    expect(output.stdout)
      .to.match(/^password +yes$/m)
      .and.not.include('sesame');
    const nothing = ['--no-password', '--no-title', '--no-note', '--no-tags'];
    const bare = await json('links', 'edit', code, ...nothing, '--expires-in', 'never');
    expect(bare).to.deep.include({
      ...{ hasPassword: false, title: null, note: null, tags: [], expiresAt: null, version: 6 },
    });
    const outdated = ['--if-version', '5'];
    for (const args of [
      ['edit', code, '--title', 'x'],
      ['disable', code],
      ['delete', code, '--yes'],
    ]) {
      const line = 'The link was changed meanwhile';
      await expectFailure(['links', ...args, ...outdated], 1, line);
    }
    expect(await text('links', 'disable', code, '--if-version', '6')).to.equal(
      `${code} is disabled now\n`,
    );
    expect(await text('links', 'enable', code)).to.equal(`${code} is active now\n`);
    expect(await text('links', 'delete', code, '--yes')).to.equal(`Deleted: ${code}\n`);
    expect(await json('links', 'show', code)).to.include({ status: 'deleted' });
    await expectFailure(['links', 'enable', code], 1, 'This link has been deleted');
  });

  it('lists the links of one account and of all accounts', async function () {
    // Starts about ten processes.
    this.timeout(60_000);
    const codes = new Map<string, readonly string[]>();
    for (const account of ['list-a', 'list-b']) {
      const { key } = await createKey('PRO', '--account', account);
      const [older, newer] = [await shorten(key), await shorten(key)];
      codes.set(account, [newer, older]);
    }
    const [a = [], b = []] = codes.values();
    const list = async (...args: readonly string[]) =>
      (await json('links', 'list', ...args)) as {
        readonly links: readonly { readonly shortCode: string; readonly account: string }[];
        readonly next: string | null;
      };
    const found = async (...args: readonly string[]) =>
      (await list(...args)).links.map(({ shortCode }) => shortCode);
    await eventuallyPasses(async () => {
      expect(await found('--account', 'list-b')).to.deep.equal(b);
    });
    const listed = await list('--destination', 'example.com', '--status', 'active');
    expect(listed.next).to.equal(null);
    expect(
      listed.links
        .filter(({ account }) => account.startsWith('list-'))
        .map(({ shortCode, account }) => [account, shortCode]),
    ).to.deep.equal([...a.map((code) => ['list-a', code]), ...b.map((code) => ['list-b', code])]);

    await json('links', 'edit', b[1] ?? '', '--tag', 'x', '--tag', 'y');
    const created = ['--created-after', '2026-01-01', '--tz', 'Europe/Berlin'];
    const tagged = ['--tag', 'x', '--tag', 'y', '--search', 'EXAMPLE', ...created];
    await eventuallyPasses(async () => {
      expect(await found(...tagged)).to.deep.equal([b[1]]);
    });
    expect(await found('--search', 'EXAMPLE', '--created-before', '2026-01-01')).to.deep.equal([]);

    const byClicks = ['--account', 'list-a', '--sort', 'clicks'];
    const args = ['links', 'list', ...byClicks, '--limit', '1'];
    const output = await startLinklogCli(args, service().env).ended;
    const [head, row] = output.stdout.split('\n');
    expect(head).to.match(/^SHORT CODE +ACCOUNT +STATUS +CLICKS +CREATED +URL$/);
    const day = new Date().toISOString().slice(0, 10);
    expect(row?.split(/ +/)).to.deep.equal([
      ...[a[0], 'list-a', 'active', '0', day, 'https://example.com/'],
    ]);
    expect(output.stderr).to.match(/^linklog: there may be more: --after [\w-]+\n$/);
    const next = output.stderr.trim().split(' ').at(-1) ?? '';
    expect(await found(...byClicks, '--after', next)).to.deep.equal(a.slice(1));
    expect(await text('links', 'list', '--account', 'unknown')).to.equal('No links match.\n');
    await expectFailure(['links', 'list', '--sort', 'clicks'], 1, 'sort=clicks needs an account');
    const limit = '--limit must be between 1 and 10000';
    await expectFailure(['links', 'list', '--limit', '0'], 2, limit);
  });

  it('allows an account a reserved alias, and revokes it', async () => {
    expect(await json('aliases', 'allow', 'Docs', '--account', 'acme')).to.deep.equal({
      alias: 'docs',
      account: 'acme',
    });
    expect(await text('aliases', 'allow', 'docs', '--account', 'shop')).to.equal(
      'The account shop may use docs\n',
    );
    expect(await text('aliases', 'disallow', 'docs')).to.equal(
      'The alias docs is reserved again\n',
    );
    await expectFailure(['aliases', 'disallow', 'docs'], 1, 'Override not found');
  });
});
