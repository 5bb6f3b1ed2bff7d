import { Option, type Command as CommanderCommand } from 'commander';
import type { Config } from '../../config/config.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { linklogVersion } from '../../platform/files/project-file.js';
import { didYouMean } from './arguments.js';
import { createAdminClient } from './client.js';
import { Command, type AddCommands, type CommandContext } from './command.js';
import { addCompletionCommand } from './completion.js';
import { confirm } from './confirmation.js';
import { CliError, failureOf } from './errors.js';
import { actorArgument, actorName, findService } from './service.js';

interface CliContext {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Called by commands only, so that `--help` works with an invalid environment. */
  readonly readConfig: () => Config;
}

const examples = `
Examples:
  $ linklog keys create --name "Build server" --plan PRO
  $ linklog links create https://example.com/
  $ linklog console
  $ linklog links block spring-sale --reason phishing
  $ linklog domains add go.example.com --account acme
  $ linklog people list
  $ linklog export --account shop > links.jsonl
  $ linklog import links.csv --account shop
  $ linklog events tail
  $ linklog webhooks list
  $ linklog shares create spring-sale --expires-in 30d
  $ linklog platform set --shortening off
  $ linklog stats spring-sale
  $ linklog projections status
  $ linklog get /health/ready
  $ linklog projections rebuild stats
  $ linklog spool ship /mnt/old-edge/spool
  $ linklog doctor
  $ linklog backup linklog.backup
  $ linklog archive verify

The running service is found by DATA_DIR (default: .data), otherwise by ADMIN_HOST and ADMIN_PORT.
Exit codes: 0 success, 1 failure, 2 invalid arguments, 78 invalid configuration, 130 interrupted.`;

const backups = async (): Promise<AddCommands> =>
  (await import('../backup/command.js')).addBackupCommands;

/** The modules of commands by their first word. */
const commands = new Map<string, () => Promise<AddCommands>>([
  ['keys', async () => (await import('./keys.js')).addKeyCommands],
  ['console', async () => (await import('./console.js')).addConsoleCommand],
  ['links', async () => (await import('./links.js')).addLinkCommands],
  ['people', async () => (await import('./people.js')).addPeopleCommands],
  ['domains', async () => (await import('./domains.js')).addDomainCommands],
  ['export', async () => (await import('./export.js')).addExportCommand],
  ['import', async () => (await import('./import.js')).addImportCommand],
  ['imports', async () => (await import('./imports.js')).addImportsCommands],
  ['events', async () => (await import('./events.js')).addEventCommands],
  ['webhooks', async () => (await import('./webhooks.js')).addWebhookCommands],
  ['shares', async () => (await import('./shares.js')).addShareCommands],
  ['aliases', async () => (await import('./aliases.js')).addAliasCommands],
  ['platform', async () => (await import('./platform.js')).addPlatformCommands],
  ['stats', async () => (await import('./stats.js')).addStatsCommand],
  ['projections', async () => (await import('./projections.js')).addProjectionCommands],
  ['spool', async () => (await import('./spool.js')).addSpoolCommands],
  ['get', async () => (await import('./get.js')).addGetCommand],
  ['doctor', async () => (await import('./doctor.js')).addDoctorCommand],
  ['sql', async () => (await import('./sql.js')).addSqlCommand],
  ['backup', backups],
  ['restore', backups],
  ['archive', async () => (await import('../archive/command.js')).addArchiveCommands],
  ['audit', async () => (await import('../audit/commands.js')).addAuditCommands],
]);

/** Imports only the modules of the command, which halves the start time. Help and an unknown word need all commands. */
const commandsFor = (firstWord = ''): Promise<AddCommands[]> => {
  const load = commands.get(firstWord);
  return Promise.all(
    (load ? [load] : [...new Set(commands.values())]).map((importer) => importer()),
  );
};

const unknownCommand = (name: string, parent: CommanderCommand): CliError => {
  const names = parent.commands.map((command) => command.name());
  const hint = didYouMean(name, names) || `; see "${linklogCommand()} --help"`;
  return new CliError('USAGE', `unknown command '${name}'${hint}`);
};

/** Adds `linklog help keys create`, because commander's own `help` is limited to one level and accepts any word. */
const addHelpCommand = (program: Command): void => {
  program.helpCommand(false);
  program
    .command('help')
    .description('show the help of a command')
    .argument('[command...]')
    .action((names: readonly string[]) => {
      let found: CommanderCommand = program;
      for (const name of names) {
        const next = found.commands.find((command) => command.name() === name);
        if (!next) throw unknownCommand(name, found);
        found = next;
      }
      found.outputHelp();
    });
};

const actorOption = new Option(
  '--actor <name>',
  'your name in the history; default the user',
).argParser(actorArgument);

/** Added to every command, so that their position does not matter. */
const addGlobalOptions = (command: CommanderCommand): void => {
  command.option('--json', 'print only JSON on stdout');
  // `audit replay` selects events by their actor.
  if (!command.options.some(({ long }) => long === actorOption.long))
    command.addOption(actorOption);
  for (const child of command.commands) addGlobalOptions(child);
};

/** Runs one command line, without `node` and the script. @returns the exit code; never rejects */
export const runCommandLine = async (
  args: readonly string[],
  { out, err, readConfig }: CliContext,
): Promise<number> => {
  let exitCode = 0;
  let json = false;
  let actor: string | undefined;
  let yes = false;
  const context: CommandContext = {
    readConfig,
    connect: async () => createAdminClient(await findService(readConfig()), context.actor()),
    actor: () => actor ?? actorName(),
    confirm: (confirmation) => confirm(yes, confirmation),
    isJson: () => json,
    print(output) {
      const printed = json ? output.json && JSON.stringify(output.json) : output.text;
      if (printed !== undefined) out(`${printed}\n`);
      if (output.notice !== undefined) err(`linklog: ${output.notice}\n`);
      exitCode = output.exitCode ?? 0;
    },
  };

  const program = new Command('linklog')
    .description('The command line of Linklog for operators')
    .version(linklogVersion())
    .notes(examples)
    .enablePositionalOptions()
    .exitOverride()
    // Errors are formatted and printed below.
    .configureOutput({ writeOut: out, writeErr: err, outputError: () => undefined })
    .hook('preAction', (_program, command) => {
      const options = command.optsWithGlobals<{ json?: true; actor?: string; yes?: true }>();
      json = options.json === true;
      ({ actor } = options);
      yes = options.yes === true;
      // Actions pass their other options on to the service.
      const own = command.options.includes(actorOption)
        ? ['json', 'yes', 'actor']
        : ['json', 'yes'];
      for (const name of own) command.setOptionValue(name, undefined);
    });
  for (const add of await commandsFor(args[0])) add(program, context);
  addCompletionCommand(program, context);
  addGlobalOptions(program);
  addHelpCommand(program);

  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    const failure = failureOf(error);
    if (failure.line !== null) err(`linklog: ${failure.line}\n`);
    return failure.exitCode;
  }
};
