import type { Command, CommandContext } from './command.js';
import { keyId } from './keys.js';

export const addConsoleCommand = (program: Command, { connect, print }: CommandContext): void => {
  program
    .command('console')
    .description('create a one-time URL of the console, valid for 10 minutes')
    .option('--key <id>', 'id of a key of the account; default the oldest key', keyId)
    .examples('console', 'console --key 01990000-0000-7000-8000-000000000000')
    .action(async ({ key }: { readonly key?: string }) => {
      const address = await (await connect()).createConsoleAddress(key ?? null);
      const { name, plan } = address.key;
      const text =
        `${address.url}\n\nValid once, for 10 minutes, for the account ${address.account} ` +
        `with the key ${name} (${plan}).`;
      print({ json: address, text });
    });
};
