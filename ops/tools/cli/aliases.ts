import { notEmpty, required } from './arguments.js';
import type { AddCommands } from './command.js';
import { changed } from './output.js';

export const addAliasCommands: AddCommands = (program, { connect, print }) => {
  const aliases = program.command('aliases').description('allow accounts to use reserved aliases');

  aliases
    .command('allow')
    .description('allow one account to use a reserved alias')
    .argument('<alias>', 'alias, case-insensitive', notEmpty('alias'))
    .option('--account <account>', 'account; replaces the previous one')
    .examples('aliases allow support --account acme')
    .action(async (alias: string, options: { readonly account?: string }) => {
      const account = required(options.account, '--account', 'aliases allow');
      const request = { parameters: { alias }, body: { account } };
      const change = await (await connect()).call('allowAlias', request);
      print(changed(change, ({ alias: allowed }) => `The account ${account} may use ${allowed}`));
    });

  aliases
    .command('disallow')
    .description('reserve an alias again; existing links keep it')
    .argument('<alias>', 'alias, case-insensitive', notEmpty('alias'))
    .examples('aliases disallow support')
    .action(async (alias: string) => {
      const change = await (await connect()).call('disallowAlias', { parameters: { alias } });
      print(changed(change, ({ alias: reserved }) => `The alias ${reserved} is reserved again`));
    });
};
