import type { AddCommands } from './command.js';
import { keyArgument } from './keys.js';

export const addConsoleCommand: AddCommands = (program, { connect, print }) => {
  program
    .command('console')
    .description('create a one-time URL of the console, valid for 10 minutes')
    .option(
      '--key <key>',
      'id or name of a key of the account; default the oldest key',
      keyArgument,
    )
    .examples('console', 'console --key shop')
    .action(async ({ key }: { readonly key?: string }) => {
      const client = await connect();
      const id = key === undefined ? null : await client.keyIdOf(key);
      const body = { key: id };
      const { value: address } = await client.call('createConsoleAddress', { body });
      const { name, plan } = address.key;
      const text =
        `${address.url}\n\nValid once, for 10 minutes, for the account ${address.account} ` +
        `with the key ${name} (${plan}).`;
      print({ json: address, text });
    });
};
