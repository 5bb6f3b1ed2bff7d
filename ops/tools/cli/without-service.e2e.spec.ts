import { expect } from 'chai';
import { linklogVersion } from '../../platform/files/project-file.js';
import { runLinklogCli } from '../../test/support/command-line.js';
import { startLinklogCli, type CommandOutput } from '../../test/support/process.js';
import { folderFixture } from '../../test/support/fixtures.js';

const unknownId = '01990000-0000-7000-8000-000000000000';

describe('CLI: command line, without a service', () => {
  const dataDir = folderFixture();

  type Env = Readonly<Record<string, string>>;

  const linklog = (args: readonly string[], env: Env = {}): Promise<CommandOutput> =>
    runLinklogCli(args, { DATA_DIR: dataDir.path, ADMIN_PORT: '1', ...env });

  const linklogProcess = (args: readonly string[], env: Env = {}): Promise<CommandOutput> =>
    startLinklogCli(args, { DATA_DIR: dataDir.path, ADMIN_PORT: '1', ...env }).ended;

  const expectFailure = async (
    said: Promise<CommandOutput>,
    exitCode: number,
    line: string,
  ): Promise<void> => {
    expect(await said).to.deep.equal({ exitCode, stdout: '', stderr: `linklog: ${line}\n` });
  };

  const absent = (): string =>
    `no service listens at http://127.0.0.1:1, and none runs in DATA_DIR ${dataDir.path}: start it, or set DATA_DIR ` +
    'to its data directory, or ADMIN_HOST and ADMIN_PORT to its address';
  for (const args of [
    ['keys', 'create', '--name', 'x', '--plan', 'PRO'],
    ['keys', 'list', '--json'],
    ['keys', 'show', unknownId],
    ['keys', 'change', unknownId, '--inactive', '--yes'],
    ['keys', 'revoke', unknownId, '--yes'],
    ['console'],
    ['links', 'create', 'https://example.com/'],
    ['links', 'block', 'spring', '--reason', 'x'],
    ['links', 'history', 'spring'],
    ['links', 'list', '--tag', 'x'],
    ['links', 'show', 'spring'],
    ['links', 'edit', 'spring', '--title', 'x'],
    ['links', 'disable', 'spring'],
    ['links', 'enable', 'spring'],
    ['links', 'delete', 'spring', '--yes'],
    ['domains', 'add', 'go.example.com', '--account', 'x'],
    ['domains', 'list'],
    ['domains', 'remove', 'go.example.com', '--yes'],
    ['export'],
    ['import', 'package.json'],
    ['imports', 'list'],
    ['imports', 'show', unknownId],
    ['imports', 'rows', unknownId],
    ['imports', 'stop', unknownId],
    ['events', 'tail'],
    ['events', 'tail', '--after', 'start', '--json'],
    ['webhooks', 'list'],
    ['webhooks', 'test', unknownId],
    ['webhooks', 'replay', unknownId, '--after', 'start', '--yes'],
    ['aliases', 'disallow', 'docs'],
    ['platform', 'show'],
    ['platform', 'set', '--qr', 'off'],
    ['projections', 'status'],
  ]) {
    it(`reports that no service listens: ${args.join(' ')}`, () =>
      expectFailure(linklog(args), 1, absent()));
  }

  for (const args of [
    ['projections', 'rebuild', 'stats', '--yes'],
    ['projections', 'redrive', 'stats'],
    ['stats', 'spring'],
  ]) {
    it(`reports that PostgreSQL is unavailable, with and without DATABASE_URL: ${args.join(' ')}`, async () => {
      await expectFailure(
        linklog(args),
        1,
        `no embedded PostgreSQL runs in DATA_DIR ${dataDir.path}: start the service, ` +
          'or set DATA_DIR to its data directory, or DATABASE_URL to its database',
      );
      await expectFailure(
        linklog(args, { DATABASE_URL: 'postgres://linklog:a-secret@127.0.0.1:1/linklog' }),
        1,
        'DATABASE_URL: PostgreSQL cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
      );
    });
  }

  it('needs --yes without a terminal for a change that cannot be undone or takes the platform away', async function () {
    this.timeout(60_000);
    for (const [args, effect] of [
      [['keys', 'revoke', 'shop'], 'The API rejects the key shop permanently'],
      [
        ['keys', 'change', 'shop', '--inactive'],
        'The API rejects all requests with the key shop until it is active again',
      ],
      [
        ['links', 'delete', 'spring'],
        'The link spring is deleted permanently, and its code is never used again',
      ],
      [
        ['domains', 'remove', 'go.example.com'],
        'All links on go.example.com return 404 until the same account gets the domain again',
      ],
      [
        ['platform', 'set', '--maintenance', 'on'],
        'The API and all short links return 503 until maintenance is off',
      ],
      [
        ['webhooks', 'replay', unknownId, '--after', 'start'],
        'The receiver gets the events after start again',
      ],
      [
        ['projections', 'rebuild', 'stats', '--json'],
        'The projection stats is rebuilt from the whole log, and replaces the live one',
      ],
      [
        ['audit', 'rebuild', 'stats', '--rollback'],
        'The tables from before the last rebuild replace the projection stats',
      ],
      [
        ['audit', 'seal', 'retire-key'],
        'The key never seals the log again, and projectors need another one',
      ],
    ] as const) {
      const line = `${effect}; without a terminal, this needs --yes`;
      await expectFailure(linklogProcess(args), 2, line);
    }
  });

  it('exits with 78 and names the invalid variable', async () => {
    const line = 'API_PORT must be a port number from 0 to 65535';
    await expectFailure(linklogProcess(['keys', 'list'], { API_PORT: 'x' }), 78, line);
    await expectFailure(
      linklog(['projections', 'rebuild', 'stats', '--yes'], { API_PORT: 'x' }),
      78,
      line,
    );
    // An invalid command line takes precedence.
    const { exitCode } = await linklogProcess(['keys', 'create'], { API_PORT: 'x' });
    expect(exitCode).to.equal(2);
  });

  it('prints the help of every command, even with an invalid environment', async () => {
    for (const args of [
      [],
      ['keys'],
      ['keys', 'create'],
      ['keys', 'list'],
      ['keys', 'show'],
      ['keys', 'change'],
      ['keys', 'revoke'],
      ['links'],
      ['links', 'create'],
      ['links', 'block'],
      ['links', 'unblock'],
      ['links', 'history'],
      ['links', 'list'],
      ['links', 'show'],
      ['links', 'edit'],
      ['links', 'disable'],
      ['links', 'enable'],
      ['links', 'delete'],
      ['console'],
      ['completion'],
      ['domains'],
      ['domains', 'add'],
      ['domains', 'list'],
      ['domains', 'remove'],
      ['export'],
      ['import'],
      ['imports'],
      ['imports', 'list'],
      ['imports', 'show'],
      ['imports', 'rows'],
      ['imports', 'stop'],
      ['events'],
      ['events', 'tail'],
      ['webhooks'],
      ['webhooks', 'list'],
      ['webhooks', 'test'],
      ['webhooks', 'replay'],
      ['aliases'],
      ['aliases', 'allow'],
      ['aliases', 'disallow'],
      ['platform'],
      ['platform', 'show'],
      ['platform', 'set'],
      ['stats'],
      ['projections'],
      ['projections', 'status'],
      ['projections', 'rebuild'],
      ['projections', 'redrive'],
      ['audit'],
      ['audit', 'replay'],
      ['audit', 'history'],
    ]) {
      const [option, command] = await Promise.all([
        linklog([...args, '--help'], { API_PORT: 'x' }),
        linklog(['help', ...args]),
      ]);
      expect({ exitCode: option.exitCode, stderr: option.stderr }).to.deep.equal({
        exitCode: 0,
        stderr: '',
      });
      expect(option.stdout).to.match(/^Usage: linklog /);
      if (args.length !== 1) expect(option.stdout).to.match(/\nExamples?:\n {2}\$ linklog /);
      expect(command).to.deep.equal(option);
    }
  });

  it('prints help and failures as a process', async () => {
    const help = await linklogProcess(['keys', 'create', '--help'], { API_PORT: 'x' });
    expect(help).to.include({ exitCode: 0, stderr: '' });
    expect(help.stdout).to.match(/^Usage: linklog keys create /);
    const bare = await linklogProcess([]);
    expect(bare).to.include({ exitCode: 2, stdout: '' });
    expect(bare.stderr).to.match(/^Usage: linklog /);
    await expectFailure(linklogProcess(['keys', 'list']), 1, absent());
  });

  it('prints the help on stderr if the command is missing', async () => {
    for (const args of [
      [],
      ['keys'],
      ['links'],
      ['domains'],
      ['imports'],
      ['events'],
      ['webhooks'],
      ['aliases'],
      ['platform'],
      ['projections'],
    ]) {
      const { exitCode, stdout, stderr } = await linklog(args);
      expect([exitCode, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.match(/^Usage: linklog /);
    }
  });

  it('prints the version of package.json', async () => {
    const { exitCode, stdout } = await linklogProcess(['--version']);
    expect(exitCode).to.equal(0);
    expect(stdout).to.equal(`${linklogVersion()}\n`);
  });
});
