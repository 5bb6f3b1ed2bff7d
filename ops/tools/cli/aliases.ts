import { notEmpty, required } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { changed } from './output.js';

export const addAliasCommands = (program: Command, { connect, print }: CommandContext): void => {
  const aliases = program
    .command('aliases')
    .description('reserved aliases: let one account use them');

  aliases
    .command('allow')
    .description('let one account use a reserved alias')
    .argument('<alias>', 'the alias, in whatever case', notEmpty('alias'))
    .option('--account <account>', 'the account; another one loses it')
    .examples('aliases allow support --account acme')
    .action(async (alias: string, options: { readonly account?: string }) => {
      const account = required(options.account, '--account', 'aliases allow');
      const change = await (await connect()).allowAlias(alias, account);
      print(changed(change, (known) => `The account ${account} may use ${known.alias}`));
    });

  aliases
    .command('disallow')
    .description('reserve an alias for nobody again; links made with it stay')
    .argument('<alias>', 'the alias, in whatever case', notEmpty('alias'))
    .examples('aliases disallow support')
    .action(async (alias: string) => {
      const change = await (await connect()).disallowAlias(alias);
      print(changed(change, (known) => `Nobody may use ${known.alias}`));
    });
};
