import type { OperatorsPerson } from '../../../schemas/http/people.js';
import { isPersonId, roleNames, type Role } from '../../../schemas/roles.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { notEmpty, oneOf, required } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { CliError } from './errors.js';
import { changed, plain, table } from './output.js';

/** The ID of a person. Names and e-mail addresses are not unique. @throws CliError */
const personArgument = (text: string): string => {
  if (isPersonId(text)) return text;
  throw new CliError(
    'USAGE',
    `${JSON.stringify(text)} is not the id of a person; see "${linklogCommand()} people list"`,
  );
};

const person = ['<id>', 'id of the person', personArgument] as const;
const account = ['--account <account>', 'account', notEmpty('account')] as const;

const head = ['ID', 'NAME', 'E-MAIL', 'ACCOUNT', 'ROLE', 'SOURCE', 'LAST SEEN'];

/** A row for each role. */
const rowsOf = ({ id, name, email, installation, roles, lastSeenAt }: OperatorsPerson) => {
  const given = roles.map((role): [string, string, string] => [
    ...([role.account, role.role, role.source] as const),
  ]);
  if (installation !== null) given.unshift(['(installation)', installation, 'group']);
  const shown = [name, email].map((text) => plain(text ?? '-'));
  return given.map((role) => [id, ...shown, ...role, lastSeenAt?.slice(0, 10) ?? 'never']);
};

/** The most that a page of people has. */
const perPage = '100';

export const addPeopleCommands = (
  program: Command,
  { connect, print, confirm }: CommandContext,
): void => {
  const people = program
    .command('people')
    .description('list people who sign in with the identity provider, and change their roles');

  people
    .command('list')
    .description('list the people of all accounts with their roles')
    .examples('people list', "people list --json | jq -r '.people[] | select(.installation) | .id'")
    .action(async () => {
      const pages = await (await connect()).pages('listPeople', { query: { limit: perPage } });
      const found = pages.flatMap((page) => page.people);
      const text =
        found.length === 0 ? 'There are no people yet.' : table(head, found.flatMap(rowsOf));
      print({ json: { people: found }, text });
    });

  people
    .command('set')
    .description('give a person a role in an account, in place of its role there')
    .argument(...person)
    .option(...account)
    .option('--role <role>', roleNames.join(', '), oneOf('role', roleNames))
    .examples('people set usr_6hQz1mV0bT8kXw2RfL4d --account acme --role editor')
    .action(async (id: string, options: { readonly account?: string; readonly role?: Role }) => {
      const to = required(options.account, '--account', 'people set');
      const role = required(options.role, '--role', 'people set');
      const request = { parameters: { id, account: to }, body: { role } };
      const change = await (await connect()).call('setPersonsRole', request);
      print(changed(change, () => `${id} is ${role} of ${to}`));
    });

  people
    .command('remove')
    .description('remove a person from an account or from all; its sessions there end')
    .argument(...person)
    .option(account[0], 'account; without it, all accounts', account[2])
    .confirmed()
    .notes('\nKeys that the person created stay valid: revoke them with "linklog keys revoke".')
    .examples(
      'people remove usr_6hQz1mV0bT8kXw2RfL4d --account acme',
      'people remove usr_6hQz1mV0bT8kXw2RfL4d --yes',
    )
    .action(async (id: string, options: { readonly account?: string }) => {
      const from = options.account ?? 'all accounts';
      await confirm({ effect: `${id} loses its role in ${from}, and its sessions there end` });
      const client = await connect();
      const change = await (options.account === undefined
        ? client.call('removePersonEverywhere', { parameters: { id } })
        : client.call('removePersonsRole', { parameters: { id, account: options.account } }));
      print(changed(change, () => `Removed: ${id} from ${from}`));
    });
};
