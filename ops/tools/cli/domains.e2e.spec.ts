import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fixture } from '../../test/support/fixture.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { onService } from './testing/on-service.js';

const domain = 'cli.xn--bcher-kva.example';

describe('CLI: domains of accounts, on a running service', () => {
  const { bench, text, processText, linklog, json, ...service } = onService();
  const { createKey, expectFailure, projected } = service;
  const folder = folderFixture();
  const key = fixture(() => createKey('PRO', '--account', 'cli-books'));

  before('add a domain', async () => {
    const add = ['domains', 'add', 'CLI.Bücher.example.', '--account', 'cli-books'];
    expect(await text(...add)).to.equal(`The domain ${domain} is active for cli-books\n`);
  });

  /** Creates a link on the domain, and one with the same code on the default domain. */
  const createTwins = async (alias: string): Promise<void> => {
    await bench.link(key.key, { url: 'https://example.com/own', alias, domain });
    await bench.link(key.key, { url: 'https://example.com/default', alias });
  };

  const urlOf = async (link: string): Promise<unknown> =>
    ((await json('links', 'show', link)) as { readonly url: string }).url;

  it('adds, lists and removes them', async () => {
    const add = ['domains', 'add', 'go.cli.example', '--account', 'cli-shop'];
    expect(await json(...add)).to.deep.include({
      ...{ domain: 'go.cli.example', account: 'cli-shop', status: 'active', verification: null },
    });
    const { domains } = (await json('domains', 'list')) as {
      readonly domains: readonly { readonly domain: string; readonly account: string }[];
    };
    expect(domains.map(({ domain: name, account }) => [name, account])).to.include.deep.members([
      ['go.cli.example', 'cli-shop'],
      [domain, 'cli-books'],
    ]);
    const [head, ...rows] = (await text('domains', 'list')).split('\n');
    expect(head).to.match(/^DOMAIN +ACCOUNT +LINKS +ADDED BY +ACTIVE SINCE$/);
    const today = new Date().toISOString().slice(0, 10);
    expect(rows.map((row) => row.split(/ +/))).to.deep.include([
      ...['go.cli.example', 'cli-shop', '0', 'operator', today],
    ]);
    const addAgain = ['domains', 'add', 'go.cli.example', '--account', 'cli-books'];
    await expectFailure(addAgain, 1, 'The domain belongs to another account');
    expect(await text('domains', 'remove', 'GO.cli.example', '--yes')).to.equal(
      'Removed: go.cli.example. Its links return 404 until the same account gets it again.\n',
    );
    await expectFailure(['domains', 'remove', ''], 2, 'the domain is empty');
  });

  it('addresses a link on a domain by domain/code and by its short URL', async () => {
    await createTwins('cli-spring');
    const [own, other] = ['https://example.com/own', 'https://example.com/default'];
    const link = `${domain}/cli-spring`;
    for (const name of [link, 'cli.BÜCHER.example./cli-spring', `http://${link}+`]) {
      expect(await urlOf(name), name).to.equal(own);
    }
    for (const name of ['cli-spring', 'https://unknown.example/cli-spring']) {
      expect(await urlOf(name), name).to.equal(other);
    }
    expect((await text('links', 'show', link)).split('\n')).to.include.members([
      'short code  cli-spring',
      `domain      ${domain}`,
    ]);
    expect(await text('links', 'disable', link)).to.equal(`${link} is disabled now\n`);
    expect(await text('links', 'enable', link)).to.equal(`${link} is active now\n`);
    await projected();
    const listed = await text('links', 'list', '--domain', 'CLI.Bücher.example');
    expect(listed.split('\n').slice(1, -1)).to.have.length(1);
    expect(listed).to.match(new RegExp(`\\n${link} +cli-books +active `));
    expect(await text('links', 'delete', link, '--yes')).to.equal(`Deleted: ${link}\n`);
    expect(await json('links', 'show', 'cli-spring')).to.include({ status: 'active' });
  });

  it('shows the statistics of a link on a domain, and of a domain', async () => {
    await createTwins('cli-summer');
    const { status } = await bench.visit('cli-summer', { headers: { Host: domain } });
    expect(status).to.equal(302);
    await projected();
    expect(await json('stats', `http://${domain}/cli-summer`)).to.include({ clickCount: 1 });
    expect(await json('stats', 'cli-summer')).to.include({ clickCount: 0 });
    const ofDomain = ['stats', '--account', 'cli-books', '--domain', 'CLI.Bücher.example'];
    expect(await text(...ofDomain, '--include', 'links')).to.match(
      new RegExp(`\nclicks +1\n[^]*\nLINKS +CLICKS\n${domain}/cli-summer +1\n$`),
    );
    const conflict = 'a link and --domain exclude each other: use domain/code';
    await expectFailure(['stats', 'cli-summer', '--domain', domain], 2, conflict);
  });

  it('replaces and removes redirect rules', async () => {
    await createTwins('cli-rules');
    const rules = [
      {
        name: 'ios-de',
        when: {
          ...{ os: ['iOS'], countries: ['DE', 'AT'], after: '2026-01-01T00:00:00.000Z' },
          weekly: { days: [1, 2], from: '22:00', to: '06:00', tz: 'Europe/Berlin' },
        },
        url: 'https://apps.example/de',
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
    const edit = ['links', 'edit', `${domain}/cli-rules`];
    expect(await json(...edit, '--rules', file)).to.deep.include({ rules });
    expect((await text('links', 'show', `${domain}/cli-rules`)).split('\n')).to.include.members([
      'rule        ios-de (countries DE, AT; os iOS; after 2026-01-01T00:00:00.000Z; weekly 1, 2 22:00 to 06:00 Europe/Berlin) https://apps.example/de',
      'rule        test (always) a (weight 1) https://example.com/a, b (weight 3) https://example.com/b',
    ]);
    expect(await json(...edit, '--no-rules')).to.deep.include({ rules: null });
    expect(await json(...edit, '--forward-query')).to.include({ forwardQuery: true });
    const args = [...edit, '--rules', '-', '--json'];
    const output = JSON.parse(await processText(args, JSON.stringify(rules.slice(1)))) as object;
    expect(output).to.deep.include({ rules: rules.slice(1) });

    await writeFile(file, '[');
    const rejected = await linklog(...edit, '--rules', file);
    expect(rejected.exitCode).to.equal(2);
    expect(rejected.stderr).to.match(
      /^linklog: the rules cannot be read from \S+: [^\n]+JSON[^\n]+\n$/,
    );
    const conflict = '--password and --rules - exclude each other';
    await expectFailure([...edit, '--rules', '-', '--password'], 2, conflict);
  });
});
