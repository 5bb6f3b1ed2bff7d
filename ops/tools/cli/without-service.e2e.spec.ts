import { expect } from 'chai';
import { projectionNames } from '../../../projectors/projections.js';
import { feedEventNames } from '../../../schemas/feed.js';
import { importFormats } from '../../../schemas/http/imports.js';
import { linklogVersion } from '../../platform/files/project-file.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { runLinklogCli } from '../../test/support/command-line.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { asTyped, startLinklogCli, type CommandOutput } from '../../test/support/process.js';
import { unknownId, unknownPerson } from './testing/on-service.js';

/** The arguments of a command line without quotes other than `''`. */
const wordsOf = (command: string): readonly string[] =>
  command.split(' ').map((word) => (word === "''" ? '' : word));

describe('CLI: command line, without a service', () => {
  const dataDir = folderFixture();

  type Env = Readonly<Record<string, string>>;

  const linklog = (args: readonly string[], env: Env = {}): Promise<CommandOutput> =>
    runLinklogCli(args, { DATA_DIR: dataDir.path, ADMIN_PORT: '1', ...env });

  const linklogProcess = (args: readonly string[], env: Env = {}, input = '') =>
    startLinklogCli(args, { DATA_DIR: dataDir.path, ADMIN_PORT: '1', ...env }, undefined, input)
      .ended;

  const expectFailure = async (
    output: Promise<CommandOutput>,
    exitCode: number,
    line: string,
  ): Promise<void> => {
    expect(await output).to.deep.equal({ exitCode, stdout: '', stderr: `linklog: ${line}\n` });
  };

  const absent = (): string =>
    `no service listens at http://127.0.0.1:1, and none runs in DATA_DIR ${dataDir.path}: start it, or set DATA_DIR ` +
    'to its data directory, or ADMIN_HOST and ADMIN_PORT to its address';

  it('reports that no service listens', async () => {
    for (const command of [
      ...['keys list --json', 'console', 'links create https://example.com/'],
      ...['domains list', 'export', 'import package.json'],
      ...['events tail --after start --json'],
      ...[`webhooks replay ${unknownId} --after start --yes`, 'shares create spring'],
      ...['people list', 'aliases disallow docs', 'platform set --qr off'],
      ...['projections status'],
    ]) {
      await expectFailure(linklog(wordsOf(command)), 1, absent());
    }
  });

  it('reports that PostgreSQL is unavailable, with and without DATABASE_URL', async () => {
    for (const args of [
      ['projections', 'rebuild', 'stats', '--yes'],
      ['projections', 'redrive', 'stats'],
      ['stats', 'spring'],
    ]) {
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
    }
  });

  it('needs --yes without a terminal for a change that cannot be undone or takes the platform away', async () => {
    const effects: Readonly<Record<string, string>> = {
      'keys revoke shop': 'The API rejects the key shop permanently',
      'keys change shop --inactive':
        'The API rejects all requests with the key shop until it is active again',
      'links delete spring': 'The link spring returns 410, and can be restored for 30 days',
      'domains remove go.example.com':
        'All links on go.example.com return 404 until the same account gets the domain again',
      'platform set --maintenance on':
        'The API and all short links return 503 until maintenance is off',
      [`webhooks replay ${unknownId} --after start`]:
        'The receiver gets the events after start again',
      [`people remove ${unknownPerson} --account acme`]: `${unknownPerson} loses its role in acme, and its sessions there end`,
      [`people remove ${unknownPerson}`]: `${unknownPerson} loses its role in all accounts, and its sessions there end`,
      [`shares end spring ${unknownId}`]: `The address of the share ${unknownId} returns 404`,
      'projections rebuild stats --json':
        'The projection stats is rebuilt from the whole log, and replaces the live one',
      'audit rebuild stats --rollback':
        'The tables from before the last rebuild replace the projection stats',
      'audit seal retire-key': 'The key never seals the log again, and projectors need another one',
    };
    for (const [command, effect] of Object.entries(effects)) {
      const line = `${effect}; without a terminal, this needs --yes`;
      // Stdin of the test run may be a terminal.
      await expectFailure(linklogProcess(wordsOf(command)), 2, line);
    }
  });

  const create = ['keys', 'create'];
  const edit = ['links', 'edit', 'x'];
  const projectionChoices = `it is one of ${projectionNames.join(', ')}, archive`;
  const see = (command: string): string => `; see "linklog ${command} --help"`;
  const noDuration = '"soon" is not a duration: use 30d, 12h, 90m, 2w, or a number of seconds';
  /** Commands, with `''` for an empty argument, and the message of each. */
  const mistakes: Readonly<Record<string, string>> = {
    'kyes list': "unknown command 'kyes' (did you mean keys?)",
    frobnicate: 'unknown command \'frobnicate\'; see "linklog --help"',
    'keys create --nmae x': "unknown option '--nmae' (did you mean --name?)",
    'keys create --name x': `--plan is missing${see('keys create')}`,
    'keys create --name': "option '--name <name>' argument missing",
    'keys create --name x --plan PORO':
      'there is no plan "PORO": it is one of FREE, HOBBY, INDIE, PRO (did you mean PRO?)',
    'keys list all': "too many arguments for 'list'. Expected 0 arguments but got 1.",
    'keys list --actor web-safety':
      '--actor must not be system, web-safety, visitor or the id of a key or a person',
    "keys list --actor ''": '--actor must have 1 to 64 characters, none of them control characters',
    "keys revoke ''": 'the id is empty; see "linklog keys list"',
    [`keys revoke ll_${'x'.repeat(38)}`]:
      'this is the key, which is a secret, not its id or its name; see "linklog keys list"',
    [`keys change ${unknownId} --json`]:
      'nothing to change: use --name, --plan, --scopes, --expires-in, --active or --inactive',
    [`keys change ${unknownId} --active --inactive`]:
      "option '--active' cannot be used with option '--inactive'",
    "links block '' --reason x": 'the short code is empty',
    'links block spring': `--reason is missing${see('links block')}`,
    'domains add go.example.com': `--account is missing${see('domains add')}`,
    'aliases allow docs': `--account is missing${see('aliases allow')}`,
    'keys craete': "unknown command 'craete' (did you mean create?)",
    'links list --limit 0': '--limit must be between 1 and 10000',
    'links edit x':
      'nothing to change: use --url, --expires-in, --expires-at, --starts-at, --max-clicks, --password, ' +
      '--title, --note, --tag, --rules or a flag of an option',
    'links edit x --tag a --no-tags': '--tag and --no-tags exclude each other',
    'links edit x --expires-in soon': noDuration,
    'links edit x --max-clicks -1': '"-1" is not a number of clicks',
    'links edit x --if-version v2 --no-note': '"v2" is not a version',
    'platform set':
      'nothing to switch: use one of --maintenance, --shortening, --aliases, --passwords, ' +
      '--expiration, --qr',
    'events tail --types LinkCreated,LinkVisitd':
      `there is no event type "LinkVisitd": it is one of ${feedEventNames.join(', ')} ` +
      '(did you mean LinkVisited?)',
    'import x --format shlink-scv':
      `there is no format "shlink-scv": it is one of auto, ${importFormats.join(', ')} ` +
      '(did you mean shlink-csv?)',
    'import x --domain a,b': 'domain must be a host, such as go.example.com',
    'projections rebuild stat': `there is no projection "stat": ${projectionChoices} (did you mean stats?)`,
    'audit as-of 2999-01-01': '2999-01-01T00:00:00.000Z is in the future',
    'audit as-of 2026-01-01 hello --key website':
      'a short code, --key and --people exclude each other',
    'people set maria@example.com --account acme --role editor':
      '"maria@example.com" is not the id of a person; see "linklog people list"',
    [`people remove ${unknownPerson} --account ''`]: 'the account is empty',
  };
  for (const [command, line] of Object.entries(mistakes)) {
    it(`rejects in one line with exit code 2: linklog ${command}`, () =>
      expectFailure(linklog(wordsOf(command)), 2, asTyped(line, linklogCommand())));
  }

  it('exits with 78 and names the invalid variable', async () => {
    const line = 'API_PORT must be a port number from 0 to 65535';
    const env = { API_PORT: 'x' };
    await expectFailure(linklogProcess(['keys', 'list'], env), 78, line);
    await expectFailure(linklog(['projections', 'rebuild', 'stats', '--yes'], env), 78, line);
    // An invalid command line takes precedence.
    expect(await linklog(create, env)).to.include({ exitCode: 2 });
  });

  /** Prints the help of a command and of its subcommands. */
  const expectHelp = async (args: readonly string[]): Promise<void> => {
    const option = await linklog([...args, '--help'], { API_PORT: 'x' });
    expect(option, args.join(' ')).to.include({ exitCode: 0, stderr: '' });
    expect(option.stdout).to.match(/^Usage: linklog /);
    expect(await linklog(['help', ...args])).to.deep.equal(option);
    const [, list = ''] = /\nCommands:\n((?: .*\n)+)/.exec(option.stdout) ?? [];
    const subcommands = [...list.matchAll(/^ {2}([a-z]\S*) /gm)].map(([, name = '']) => name);
    // `audit seal` is a command and a group; its subcommand needs no example.
    const isSeal = args[1] === 'seal';
    if (!isSeal && (subcommands.length === 0 || args.length === 0)) {
      expect(option.stdout, args.join(' ')).to.match(/\nExamples?:\n {2}\$ /);
    } else if (!isSeal) {
      const bare = await linklog(args);
      expect(bare, args.join(' ')).to.include({ exitCode: 2, stdout: '' });
      expect(bare.stderr).to.match(/^Usage: linklog /);
    }
    for (const name of subcommands) if (name !== 'help') await expectHelp([...args, name]);
  };

  it('prints the help of every command, even with an invalid environment', () => expectHelp([]));

  it('prints help, the version and failures as a process', async () => {
    const help = await linklogProcess(['keys', 'create', '--help'], { API_PORT: 'x' });
    expect(help).to.include({ exitCode: 0, stderr: '' });
    expect(help.stdout).to.match(/^Usage: linklog keys create /);
    const version = await linklogProcess(['--version']);
    expect(version).to.deep.equal({ exitCode: 0, stdout: `${linklogVersion()}\n`, stderr: '' });
    const plan = linklogProcess([...create, '--name', 'x']);
    await expectFailure(plan, 2, asTyped(`--plan is missing${see('keys create')}`));
    const empty = linklogProcess([...edit, '--password'], {}, '\n');
    await expectFailure(empty, 2, 'the password is empty: it is the first line of stdin');
    await expectFailure(linklogProcess(['keys', 'list']), 1, absent());
  });
});
