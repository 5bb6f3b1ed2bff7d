import { durationOf, linkArgument, linkDescription, notEmpty } from './arguments.js';
import type { AddCommands } from './command.js';
import { table } from './output.js';
import { readPassword } from './password.js';

interface ShareOptions {
  readonly expiresIn?: number;
  readonly password?: true;
  readonly showDestination?: true;
}

const head = ['ID', 'CREATED', 'EXPIRES', 'PASSWORD', 'DESTINATION'];

export const addShareCommands: AddCommands = (program, { connect, print, confirm }) => {
  const shares = program
    .command('shares')
    .description('share the statistics of a link of any account by a secret address');
  const link = ['<code>', linkDescription, linkArgument] as const;

  shares
    .command('create')
    .description('create a secret address, and print it')
    .argument(...link)
    .option('--expires-in <duration>', 'end, from now: 30d, 12h, 90m …', durationOf)
    .option('--password', 'password, read from the terminal or the first line of stdin')
    .option('--show-destination', 'show the destination too')
    .examples('shares create spring-sale', 'shares create spring-sale --expires-in 30d')
    .action(async (code: string, { password, ...options }: ShareOptions) => {
      const body = { ...options, password: password && (await readPassword()) };
      const client = await connect();
      const share = await client.get('shareStatistics', { ...(await client.linkOf(code)), body });
      print({ json: share, text: share.url });
    });

  shares
    .command('list')
    .description('list the shares of a link that have not ended or expired')
    .argument(...link)
    .examples('shares list spring-sale')
    .action(async (code: string) => {
      const client = await connect();
      const found = await client.get('getShares', await client.linkOf(code));
      const rows = found.shares.map(
        ({ id, createdAt, expiresAt, hasPassword, showDestination }) => [
          ...[id, createdAt, expiresAt ?? 'never'],
          ...[hasPassword, showDestination].map((value) => (value ? 'yes' : 'no')),
        ],
      );
      print({ json: found, text: table(head, rows) });
    });

  shares
    .command('end')
    .description('end a share: its address returns 404')
    .argument(...link)
    .argument('<id>', 'id of the share', notEmpty('id'))
    .confirmed()
    .examples('shares end spring-sale 01990000-0000-7000-8000-000000000000')
    .action(async (code: string, id: string) => {
      await confirm({ effect: `The address of the share ${id} returns 404` });
      const client = await connect();
      const { parameters, ...request } = await client.linkOf(code);
      await client.call('endShare', { ...request, parameters: { ...parameters, id } });
      print({ json: { id }, text: `Ended: ${id}` });
    });
};
