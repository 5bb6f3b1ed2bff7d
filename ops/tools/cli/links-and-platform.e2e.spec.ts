import { expect } from 'chai';
import { parseCsv } from '../../../schemas/testing/csv.js';
import { destination } from '../../test/e2e/harness.js';
import { sendRequest } from '../../test/support/http.js';
import { runIntoClosedPipe, runOnTerminal } from '../../test/support/process.js';
import { eventuallyPasses } from '../../test/support/waiting.js';
import { actorName } from './service.js';
import { onService } from './testing/on-service.js';

describe('CLI: links and the platform, on a running service', () => {
  const { bench, service, text, processText, startLinklog, linklog, json, createKey, ...more } =
    onService();
  const { expectFailure } = more;

  const shorten = async (key: string, url = destination): Promise<string> =>
    (await bench.link(key, { url })).shortCode;

  it('shows and switches the platform', async () => {
    await json('platform', 'set', '--passwords', 'on');
    const on = { shortening: true, aliases: true, passwords: true, expiration: true, qr: true };
    const initial = { maintenance: false, features: on };
    expect(await json('platform', 'show')).to.deep.equal(initial);
    const off = ['--maintenance', 'on', '--shortening', 'OFF', '--qr', 'off', '--yes'];
    expect(await json('platform', 'set', ...off)).to.deep.equal({
      ...{ maintenance: true, features: { ...on, shortening: false, qr: false } },
    });
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
    const refused = await runOnTerminal(args, service.env, 'yes\n');
    expect(refused.exitCode).to.equal(1);
    expect(refused.shown).to.include(
      'The API and all short links return 503 until maintenance is off.\nType maintenance to continue: ',
    );
    expect(await json('platform', 'show')).to.include({ maintenance: false });
    const accepted = await runOnTerminal(args, service.env, 'maintenance\n');
    expect(accepted.exitCode).to.equal(0);
    expect(accepted.shown).to.match(/continue: maintenance {2}on\n/);
    const off = await json('platform', 'set', '--maintenance', 'off');
    expect(off).to.include({ maintenance: false });
  });

  it('creates links, and prints their short URLs', async () => {
    const url = 'https://created.example/';
    const shortUrl = (await text('links', 'create', url)).trimEnd();
    expect((await sendRequest(shortUrl)).headers.location).to.equal(url);
    // Accounts may not use this alias.
    const options = ['--alias', 'status', '--title', 'a b', '--tag', 'one', '--tag', 'two'];
    const ends = ['--expires-in', '30d', '--max-clicks', '5', '--account', 'cli-created'];
    const created = await json('links', 'create', url, ...options, ...ends);
    expect(created).to.deep.include({
      ...{ shortCode: 'status', title: 'a b', tags: ['one', 'two'] },
      ...{ maxClicks: 5, account: 'cli-created' },
    });
    const { createdAt, expiresAt } = created as { createdAt: string; expiresAt: string };
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).to.equal(30 * 86_400_000);
    const args = ['links', 'create', url, '--alias', 'cli-locked', '--password'];
    await processText(args, 'open sesame\n');
    expect(await json('links', 'show', 'cli-locked')).to.include({ hasPassword: true });
    await expectFailure(['links', 'create', url, '--alias', 'status'], 1, 'Alias is already taken');

    const list = ['links', 'list', '--account', 'cli-created', '--csv'];
    await eventuallyPasses(async () => {
      const [head = [], ...rows] = parseCsv(await text(...list));
      expect(rows).to.have.length(1);
      expect(Object.fromEntries(head.map((name, index) => [name, rows[0]?.[index]]))).to.include({
        ...{ domain: '', shortCode: 'status', account: 'cli-created', status: 'active', url },
        ...{ title: 'a b', tags: 'one,two', clickCount: '0', createdAt, expiresAt, maxClicks: '5' },
      });
    });
  });

  it('records the name of --actor, else of the user of sudo', async () => {
    const link = (await json('links', 'create', 'https://example.com/')) as { shortCode: string };
    const code = link.shortCode;
    const actor = 'Zoë Müller 100%';
    await text('links', 'disable', code, '--actor', actor);
    const sudo = { ...service.env, SUDO_USER: 'ada lovelace' };
    for (const args of [
      ['links', 'enable', code],
      ['--actor', 'maria', 'links', 'disable', code],
    ]) {
      expect((await startLinklog(args, '', sudo).ended).exitCode).to.equal(0);
    }
    const { events } = (await json('links', 'history', code)) as { events: { actor: string }[] };
    expect(events.map((event) => event.actor)).to.deep.equal([
      ...[actorName(), actor, 'ada lovelace', 'maria'],
    ]);
  });

  it('succeeds if the reader of its output exits, with every kind of output', async () => {
    for (const args of [
      ['links', 'list', '--account', 'cli-created'],
      ['export', '--account', 'cli-created'],
      ['keys', 'list', '--json'],
      ['audit', 'replay'],
      ['--help'],
    ]) {
      const output = await runIntoClosedPipe(args, service.env);
      expect(output, args.join(' ')).to.deep.equal({ exitCode: 0, stdout: '', stderr: '' });
    }
    // Part of a backup is useless.
    const backup = await runIntoClosedPipe(['backup', '-'], service.env);
    expect(backup).to.include({ exitCode: 1, stdout: '' });
    expect(backup.stderr).to.match(
      /^(?:backup: .+\n)*linklog: the reader of the backup exited; the backup is incomplete\n$/,
    );
  });

  it('blocks and unblocks links, and shows their history', async () => {
    const { key } = await createKey('PRO');
    const code = await shorten(key);
    const reason = 'phishing, reported';
    const output = await text('links', 'block', code, '--reason', reason);
    expect(output).to.equal(`Blocked: ${code}\n`);
    expect((await bench.visit(code)).status).to.equal(410);
    const unblocked = await json('links', 'unblock', code, '--reason', 'a mistake');
    expect(unblocked).to.deep.equal({ shortCode: code, blocked: false });

    const { events } = (await json('links', 'history', code)) as {
      events: { type: string; actor: string; data: object }[];
    };
    expect(events.slice(1).map(({ type, actor, data }) => [type, actor, data])).to.deep.equal([
      ['linklog.LinkBlocked.v1', actorName(), { reason }],
      ['linklog.LinkUnblocked.v1', actorName(), { reason: 'a mistake' }],
    ]);
    const lines = (await text('links', 'history', code)).trimEnd().split('\n');
    expect(lines[0]).to.match(/^TIME +WHAT +WHO +WHY$/);
    expect(lines.slice(1).map((line) => line.split(/ {2,}/).slice(1))).to.deep.equal([
      ['LinkCreated', events[0]?.actor, destination],
      ['LinkBlocked', actorName(), reason],
      ['LinkUnblocked', actorName(), 'a mistake'],
    ]);
  });

  it('shows, edits, disables, enables and deletes links', async () => {
    const { key } = await createKey('PRO', '--account', 'cli-edit');
    const code = await shorten(key);
    const shown = (await json('links', 'show', ` http://sho.rt/${code}+`)) as {
      readonly createdAt: string;
    };
    const initial = { shortCode: code, account: 'cli-edit', status: 'active', version: 1 };
    expect(shown).to.include(initial);
    const url = 'https://example.com/b';
    const words = ['--url', url, '--title', 'a b', '--note', 'a\nb'];
    const tags = ['--tag', 'x', '--tag', 'y', '--expires-in', '3600'];
    expect(await json('links', 'edit', code, ...words, ...tags)).to.deep.include({
      ...{ url, title: 'a b', note: 'a\nb', tags: ['x', 'y'], version: 3 },
    });
    const lines = (await text('links', 'show', code)).split('\n');
    expect(lines).to.include.members([
      ...[`short code  ${code}`, `url         ${url}`, 'account     cli-edit'],
      ...['status      active', 'note        a\\u000ab', 'tags        x, y', 'clicks      0'],
      ...[`created     ${shown.createdAt}`, 'version     3'],
    ]);
    const change = ['links', 'edit', code, '--password'];
    expect(await processText(change, 'open sesame\nnever read'))
      .to.match(/^password +yes$/m)
      .and.not.include('sesame');
    const nothing = ['--no-password', '--no-title', '--no-note', '--no-tags'];
    const bare = await json('links', 'edit', code, ...nothing, '--expires-in', 'never');
    expect(bare).to.deep.include({
      ...{ hasPassword: false, title: null, note: null, tags: [], expiresAt: null, version: 6 },
    });
    for (const args of [
      ['edit', code, '--title', 'x'],
      ['delete', code, '--yes'],
    ]) {
      const outdated = ['links', ...args, '--if-version', '5'];
      await expectFailure(outdated, 1, 'The link was changed meanwhile');
    }
    const disabled = await text('links', 'disable', code, '--if-version', '6');
    expect(disabled).to.equal(`${code} is disabled now\n`);
    expect(await text('links', 'enable', code)).to.equal(`${code} is active now\n`);
    expect(await text('links', 'delete', code, '--yes')).to.equal(`Deleted: ${code}\n`);
    expect(await json('links', 'show', code)).to.include({ status: 'deleted' });
    expect(await text('links', 'restore', code)).to.equal(`${code} is active now\n`);
  });

  it('lists the links of one account and of all accounts', async () => {
    const codes = new Map<string, readonly string[]>();
    for (const account of ['cli-list-a', 'cli-list-b']) {
      const { key } = await createKey('PRO', '--account', account);
      const url = 'https://cli-list.example/';
      const [older, newer] = [await shorten(key, url), await shorten(key, url)];
      codes.set(account, [newer, older]);
    }
    const [a = [], b = []] = codes.values();
    const list = async (...args: readonly string[]) =>
      (await json('links', 'list', ...args)) as {
        readonly links: readonly { readonly shortCode: string; readonly account: string }[];
      };
    const found = async (...args: readonly string[]) =>
      (await list(...args)).links.map(({ shortCode }) => shortCode);
    await eventuallyPasses(async () => {
      expect(await found('--account', 'cli-list-b')).to.deep.equal(b);
    });
    const active = ['--destination', 'cli-list.example', '--status', 'active'];
    await eventuallyPasses(async () => {
      expect(await found(...active)).to.deep.equal([...a, ...b]);
    });

    await json('links', 'edit', b[1] ?? '', '--tag', 'x', '--tag', 'cli-y');
    const created = ['--created-after', '2026-01-01', '--tz', 'Europe/Berlin'];
    const tagged = ['--tag', 'x', '--tag', 'cli-y', '--search', 'CLI-LIST', ...created];
    await eventuallyPasses(async () => {
      expect(await found(...tagged)).to.deep.equal([b[1]]);
    });

    const byClicks = ['--account', 'cli-list-a', '--sort', 'clicks'];
    const output = await linklog('links', 'list', ...byClicks, '--limit', '1');
    const [head, row] = output.stdout.split('\n');
    expect(head).to.match(/^SHORT CODE +ACCOUNT +STATUS +CLICKS +CREATED +URL$/);
    const day = new Date().toISOString().slice(0, 10);
    expect(row?.split(/ +/).slice(0, 5)).to.deep.equal([a[0], 'cli-list-a', 'active', '0', day]);
    expect(output.stderr).to.match(/^linklog: there may be more: --after [\w-]+\n$/);
    const next = output.stderr.trim().split(' ').at(-1) ?? '';
    expect(await found(...byClicks, '--after', next)).to.deep.equal(a.slice(1));
    expect(await text('links', 'list', '--account', 'unknown')).to.equal('No links match.\n');
    expect(await found('--sort', 'clicks', ...active)).to.deep.equal([...a, ...b]);
  });

  it('allows an account a reserved alias, and revokes it', async () => {
    for (const account of ['acme', 'shop']) await bench.key('FREE', { account });
    const allowed = await json('aliases', 'allow', 'Docs', '--account', 'acme');
    expect(allowed).to.deep.equal({ alias: 'docs', account: 'acme' });
    const again = await text('aliases', 'allow', 'docs', '--account', 'shop');
    expect(again).to.equal('The account shop may use docs\n');
    const revoked = await text('aliases', 'disallow', 'docs');
    expect(revoked).to.equal('The alias docs is reserved again\n');
    await expectFailure(['aliases', 'disallow', 'docs'], 1, 'Override not found');
  });
});
