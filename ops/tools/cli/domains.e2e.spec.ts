import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sendRequest } from '../../test/support/http.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { fixture } from '../../test/support/fixture.js';
import { startLinklogCli } from '../../test/support/process.js';
import { onService } from './testing/on-service.js';

const domain = 'xn--bcher-kva.example';

describe('CLI: domains of accounts, on a running service', function () {
  // Starts about forty processes.
  this.timeout(90_000);
  const { service, text, json, linklog, createKey, expectFailure, projected } = onService();
  const folder = folderFixture();
  const key = fixture(() => createKey('PRO', '--account', 'books'));

  before('add a domain', async () => {
    const add = ['domains', 'add', 'Bücher.example.', '--account', 'books'];
    expect(await text(...add)).to.equal(`The domain ${domain} is active for books\n`);
  });

  /** Creates a link on the domain, and one with the same code on the default domain. */
  const createTwins = async (alias: string): Promise<void> => {
    for (const [url, fields] of [
      ['https://example.com/own', { domain }],
      ['https://example.com/default', {}],
    ] as const) {
      const response = await sendRequest(`${service().product.api}/v2/shorten`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key.key}` },
        body: { url, alias, ...fields },
      });
      expect(response.status, response.text).to.equal(201);
    }
  };

  const urlOf = async (link: string): Promise<unknown> =>
    ((await json('links', 'show', link)) as { readonly url: string }).url;

  it('adds, lists and removes them', async () => {
    const add = ['domains', 'add', 'go.example.com', '--account', 'shop'];
    expect(await json(...add)).to.deep.include({
      ...{ domain: 'go.example.com', account: 'shop', status: 'active', verification: null },
    });
    const { domains } = (await json('domains', 'list')) as {
      readonly domains: readonly { readonly domain: string; readonly account: string }[];
    };
    expect(domains.map(({ domain: name, account }) => [name, account])).to.deep.equal([
      ['go.example.com', 'shop'],
      [domain, 'books'],
    ]);
    const [head, row] = (await text('domains', 'list')).split('\n');
    expect(head).to.match(/^DOMAIN +ACCOUNT +LINKS +ADDED BY +ACTIVE SINCE$/);
    const today = new Date().toISOString().slice(0, 10);
    expect(row?.split(/ +/)).to.deep.equal(['go.example.com', 'shop', '0', 'operator', today]);
    await expectFailure(
      ['domains', 'add', 'go.example.com', '--account', 'books'],
      1,
      'The domain belongs to another account',
    );
    expect(await text('domains', 'remove', 'GO.example.com', '--yes')).to.equal(
      'Removed: go.example.com. Its links return 404 until the same account gets it again.\n',
    );
    await expectFailure(['domains', 'remove', 'go.example.com', '--yes'], 1, 'Domain not found');
    await expectFailure(
      ['domains', 'add', 'localhost', '--account', 'books'],
      1,
      'Please provide a valid domain',
    );
    const noAccount = '--account is missing; see "linklog domains add --help"';
    await expectFailure(['domains', 'add', 'go.example.com'], 2, noAccount);
    await expectFailure(['domains', 'remove', ''], 2, 'the domain is empty');
  });

  it('addresses a link on a domain by domain/code and by its short URL', async () => {
    await createTwins('spring');
    const [own, other] = ['https://example.com/own', 'https://example.com/default'];
    for (const link of [`${domain}/spring`, 'BÜCHER.example./spring', `http://${domain}/spring+`]) {
      expect(await urlOf(link), link).to.equal(own);
    }
    for (const link of ['spring', 'https://unknown.example/spring']) {
      expect(await urlOf(link), link).to.equal(other);
    }
    const link = `${domain}/spring`;
    expect((await text('links', 'show', link)).split('\n')).to.include.members([
      'short code  spring',
      `domain      ${domain}`,
    ]);
    expect(await text('links', 'disable', link)).to.equal(`${link} is disabled now\n`);
    expect(await text('links', 'enable', link)).to.equal(`${link} is active now\n`);
    await text('links', 'block', link, '--reason', 'phishing');
    await text('links', 'unblock', link, '--reason', 'a mistake');
    expect(await text('links', 'history', link)).to.match(/LinkBlocked .* phishing\n/);
    expect(await text('links', 'history', 'spring')).to.not.include('LinkBlocked');
    await projected();
    const listed = await text('links', 'list', '--domain', 'Bücher.example');
    expect(listed.split('\n').slice(1, -1)).to.have.length(1);
    expect(listed).to.match(new RegExp(`\\n${link} +books +active `));
    expect(await text('links', 'delete', link, '--yes')).to.equal(`Deleted: ${link}\n`);
    expect(await json('links', 'show', 'spring')).to.include({ status: 'active' });
    await expectFailure(['links', 'show', `${domain}/nothing`], 1, 'Short URL not found');
  });

  it('shows the statistics of a link on a domain, and of a domain', async () => {
    await createTwins('summer');
    const visit = { headers: { Host: domain } };
    const { status } = await sendRequest(`${service().product.edge}/summer`, visit);
    expect(status).to.equal(302);
    await projected();
    expect(await json('stats', `http://${domain}/summer`)).to.include({ clickCount: 1 });
    expect(await json('stats', 'summer')).to.include({ clickCount: 0 });
    const ofDomain = ['stats', '--account', 'books', '--domain', 'Bücher.example'];
    expect(await text(...ofDomain, '--include', 'links')).to.match(
      new RegExp(`\nclicks +1\n[^]*\nLINKS +CLICKS\n${domain}/summer +1\n$`),
    );
    await expectFailure(
      ['stats', 'summer', '--domain', domain],
      2,
      'a link and --domain exclude each other: use domain/code',
    );
    await expectFailure(
      ['stats', '--domain', 'x y'],
      2,
      'domain must be a host, such as go.example.com',
    );
  });

  it('shows the events of a link on a domain, also after the release of the domain', async () => {
    await json('domains', 'add', 'old.example.com', '--account', 'books');
    const response = await sendRequest(`${service().product.api}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key.key}` },
      body: { url: 'https://example.com/old', alias: 'winter', domain: 'old.example.com' },
    });
    expect(response.status, response.text).to.equal(201);
    const url = 'http://old.example.com/winter';
    const link = 'old.example.com/winter';
    for (const argument of [url, link]) {
      expect(await json('audit', 'history', argument)).to.include({
        ...{ shortCode: 'winter', domain: 'old.example.com' },
      });
    }
    await json('domains', 'remove', 'old.example.com', '--yes');
    const moment = new Date().toISOString();
    const asOf = async (...args: readonly string[]): Promise<string> => {
      const { exitCode, stdout } = await linklog('audit', 'as-of', moment, ...args);
      expect(exitCode).to.equal(0);
      return stdout;
    };
    expect(await asOf()).to.match(/^domains +xn--\S+ of books$/m);
    expect(await asOf(link)).to.match(new RegExp(`^link +${link}\nstate +active$`, 'm'));
    expect(JSON.parse(await asOf(link, '--json'))).to.include({
      ...{ shortCode: 'winter', domain: 'old.example.com' },
    });
    const replayed = await text('audit', 'replay', '--code', 'OLD.example.com./winter');
    expect(JSON.parse(replayed)).to.include({ subject: link, type: 'linklog.LinkCreated.v4' });
    expect(await urlOf(link)).to.equal('https://example.com/old');
    await expectFailure(['audit', 'history', url], 1, 'the log contains no link "winter"');
  });

  it('replaces and removes redirect rules', async () => {
    await createTwins('rules');
    const rules = [
      {
        name: 'ios-de',
        when: { os: ['iOS'], countries: ['DE', 'AT'], after: '2026-01-01T00:00:00.000Z' },
        url: 'https://apps.example/de',
      },
      {
        name: 'night',
        when: { weekly: { days: [1, 2], from: '22:00', to: '06:00', tz: 'Europe/Berlin' } },
        url: 'https://example.com/night',
      },
      {
        name: 'test',
        when: {},
        split: [
          { name: 'a', url: 'https://example.com/a', weight: 1 },
          { name: 'b', url: 'https://example.com/b', weight: 3 },
        ],
      },
    ];
    const file = path.join(folder.path, 'rules.json');
    await writeFile(file, JSON.stringify(rules));
    const link = `${domain}/rules`;
    const edit = ['links', 'edit', link];
    expect(await json(...edit, '--rules', file)).to.deep.include({ rules });
    expect((await text('links', 'show', link)).split('\n')).to.include.members([
      'rule        ios-de (countries DE, AT; os iOS; after 2026-01-01T00:00:00.000Z) https://apps.example/de',
      'rule        night (weekly 1, 2 22:00 to 06:00 Europe/Berlin) https://example.com/night',
      'rule        test (always) a (weight 1) https://example.com/a, b (weight 3) https://example.com/b',
    ]);
    const asOf = await linklog('audit', 'as-of', new Date().toISOString(), link);
    expect(asOf.stdout).to.match(/^rule +test \(always\) a \(weight 1\) /m);
    expect(await json(...edit, '--no-rules')).to.deep.include({ rules: null });
    for (const [option, forwardQuery] of [
      ['--forward-query', true],
      ['--no-forward-query', false],
    ] as const) {
      expect(await json(...edit, option)).to.include({ forwardQuery });
    }
    const stdin = JSON.stringify(rules.slice(2));
    const fromStdin = [...edit, '--rules', '-', '--json'];
    const output = await startLinklogCli(fromStdin, service().env, undefined, stdin).ended;
    expect([output.exitCode, output.stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(output.stdout)).to.deep.include({ rules: rules.slice(2) });

    await writeFile(
      file,
      '[{"name": "x", "when": {"os": ["OS/2"]}, "url": "https://example.com/"}]',
    );
    const { exitCode, stderr } = await linklog(...edit, '--rules', file);
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/^linklog: rules\[0\]\.when\.os\[0\]: must be one of: [^\n]+\n$/);
    await writeFile(file, '[');
    const broken = await linklog(...edit, '--rules', file);
    expect(broken.exitCode).to.equal(2);
    expect(broken.stderr).to.match(
      /^linklog: the rules cannot be read from \S+: [^\n]+JSON[^\n]+\n$/,
    );
    await expectFailure(
      [...edit, '--rules', '/nowhere/rules.json'],
      2,
      'the rules cannot be read from /nowhere/rules.json: ' +
        "ENOENT: no such file or directory, open '/nowhere/rules.json'",
    );
    await expectFailure(
      [...edit, '--rules', '-', '--password'],
      2,
      '--password and --rules - exclude each other',
    );
  });
});
