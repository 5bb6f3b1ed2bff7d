import type { Command, CommandContext } from './command.js';
import { keyId } from './keys.js';

export const addConsoleCommand = (program: Command, { connect, print }: CommandContext): void => {
  program
    .command('console')
    .description('a one-time address that opens the console, good for 10 minutes')
    .option('--key <id>', 'whose account it opens: a key by its id (default: the oldest)', keyId)
    .examples('console', 'console --key 01990000-0000-7000-8000-000000000000')
    .action(async ({ key }: { readonly key?: string }) => {
      const address = await (await connect()).createConsoleAddress(key ?? null);
      const { name, plan } = address.key;
      const whose = `the account ${address.account}, with the key ${name} (${plan})`;
      const text = `${address.url}\n\nGood once, for 10 minutes. It opens ${whose}.`;
      print({ json: address, text });
    });
};
