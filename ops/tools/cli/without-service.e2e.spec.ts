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

  const absent = 'no service listens at http://127.0.0.1:1; start it with "npm start"';
  for (const args of [
    ['keys', 'create', '--name', 'x', '--plan', 'PRO'],
    ['keys', 'list', '--json'],
    ['keys', 'show', unknownId],
    ['keys', 'change', unknownId, '--inactive'],
    ['keys', 'revoke', unknownId],
    ['console'],
    ['links', 'block', 'spring', '--reason', 'x'],
    ['links', 'history', 'spring'],
    ['links', 'list', '--tag', 'x'],
    ['links', 'show', 'spring'],
    ['links', 'edit', 'spring', '--title', 'x'],
    ['links', 'disable', 'spring'],
    ['links', 'enable', 'spring'],
    ['links', 'delete', 'spring'],
    ['domains', 'add', 'go.example.com', '--account', 'x'],
    ['domains', 'list'],
    ['domains', 'remove', 'go.example.com'],
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
    ['webhooks', 'replay', unknownId, '--after', 'start'],
    ['aliases', 'disallow', 'docs'],
    ['platform', 'show'],
    ['platform', 'set', '--qr', 'off'],
    ['projections', 'status'],
  ]) {
    it(`reports that no service listens: ${args.join(' ')}`, () =>
      expectFailure(linklog(args), 1, absent));
  }

  for (const args of [
    ['projections', 'rebuild', 'stats'],
    ['projections', 'redrive', 'stats'],
    ['stats', 'spring'],
  ]) {
    it(`reports that PostgreSQL is unavailable, with and without DATABASE_URL: ${args.join(' ')}`, async () => {
      await expectFailure(
        linklog(args),
        1,
        `no embedded PostgreSQL runs in ${dataDir.path}; start the service with "npm start", ` +
          'or set DATABASE_URL to its database',
      );
      await expectFailure(
        linklog(args, { DATABASE_URL: 'postgres://linklog:a-secret@127.0.0.1:1/linklog' }),
        1,
        'DATABASE_URL: PostgreSQL cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
      );
    });
  }

  it('exits with 78 and names the invalid variable', async () => {
    const line = 'API_PORT must be a port number from 0 to 65535';
    await expectFailure(linklogProcess(['keys', 'list'], { API_PORT: 'x' }), 78, line);
    await expectFailure(linklog(['projections', 'rebuild', 'stats'], { API_PORT: 'x' }), 78, line);
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
    await expectFailure(linklogProcess(['keys', 'list']), 1, absent);
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
