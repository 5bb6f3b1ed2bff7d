import type { Command } from 'commander';
import type { AdminClient } from './client.js';
import { CliError } from './errors.js';
import { noticeOf, type Answer } from './output.js';

const aliasOf = (alias: string): string => {
  if (alias === '') throw new CliError('USAGE', 'the alias is empty');
  return alias;
};

interface AllowOptions {
  readonly account?: string;
}

const allow = async (
  connect: () => AdminClient,
  alias: string,
  { account }: AllowOptions,
): Promise<Answer> => {
  if (account === undefined) {
    throw new CliError('USAGE', '--account is missing; see "linklog aliases allow --help"');
  }
  const { value, inLog } = await connect().allowAlias(alias, account);
  const text = `The account ${account} may use ${value.alias}`;
  return { json: value, text, notice: noticeOf(inLog) };
};

const disallow = async (client: AdminClient, alias: string): Promise<Answer> => {
  const { value, inLog } = await client.disallowAlias(alias);
  return { json: value, text: `Nobody may use ${value.alias}`, notice: noticeOf(inLog) };
};

/** Adds `linklog aliases …`. */
export const addAliasCommands = (
  program: Command,
  connect: () => AdminClient,
  print: (command: Command, answer: Answer) => void,
): void => {
  const aliases = program
    .command('aliases')
    .helpCommand(false)
    .description('reserved aliases: let one account use them');

  aliases
    .command('allow')
    .description('let one account use a reserved alias')
    .argument('<alias>', 'the alias, in whatever case', aliasOf)
    .option('--account <account>', 'the account; another one loses it')
    .addHelpText(
      'after',
      `
Example:
  $ linklog aliases allow support --account acme`,
    )
    .action(async (alias: string, options: AllowOptions, command: Command) => {
      print(command, await allow(connect, alias, options));
    });

  aliases
    .command('disallow')
    .description('reserve an alias for nobody again; links made with it stay')
    .argument('<alias>', 'the alias, in whatever case', aliasOf)
    .addHelpText(
      'after',
      `
Example:
  $ linklog aliases disallow support`,
    )
    .action(async (alias: string, _options: object, command: Command) => {
      print(command, await disallow(connect(), alias));
    });
};
