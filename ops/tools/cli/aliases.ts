import type { Command } from 'commander';
import { notEmpty, required } from './arguments.js';
import type { AdminClient } from './client.js';
import { examples, type CommandContext } from './context.js';
import { noticeOf, type Answer } from './output.js';

interface AllowOptions {
  readonly account?: string;
}

const allow = async (
  connect: () => AdminClient,
  alias: string,
  options: AllowOptions,
): Promise<Answer> => {
  const account = required(options.account, '--account', 'aliases allow');
  const { value, inLog } = await connect().allowAlias(alias, account);
  const text = `The account ${account} may use ${value.alias}`;
  return { json: value, text, notice: noticeOf(inLog) };
};

const disallow = async (client: AdminClient, alias: string): Promise<Answer> => {
  const { value, inLog } = await client.disallowAlias(alias);
  return { json: value, text: `Nobody may use ${value.alias}`, notice: noticeOf(inLog) };
};

/** Adds `linklog aliases …`. */
export const addAliasCommands = (program: Command, { connect, print }: CommandContext): void => {
  const aliases = program
    .command('aliases')
    .helpCommand(false)
    .description('reserved aliases: let one account use them');

  aliases
    .command('allow')
    .description('let one account use a reserved alias')
    .argument('<alias>', 'the alias, in whatever case', notEmpty('alias'))
    .option('--account <account>', 'the account; another one loses it')
    .addHelpText('after', examples('aliases allow support --account acme'))
    .action(async (alias: string, options: AllowOptions) => {
      print(await allow(connect, alias, options));
    });

  aliases
    .command('disallow')
    .description('reserve an alias for nobody again; links made with it stay')
    .argument('<alias>', 'the alias, in whatever case', notEmpty('alias'))
    .addHelpText('after', examples('aliases disallow support'))
    .action(async (alias: string) => {
      print(await disallow(connect(), alias));
    });
};
