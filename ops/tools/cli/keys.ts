import { Option } from 'commander';
import type {
  ChangeKeyRequest,
  CreateKeyRequest,
  CreatedKeyResponse,
  KeyResponse,
  KeyWithUsageResponse,
} from '../../../schemas/http/keys.js';
import { planNames, type PlanName } from '../../../schemas/plans.js';
import { scopeNames, type Scope } from '../../../schemas/scopes.js';
import { durationOf, durationOrNever, oneOf, required } from './arguments.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import type { Command, CommandContext } from './command.js';
import { CliError } from './errors.js';
import { changed, count, counted, formatFields, table } from './output.js';

/** The id or the name of a key. Rejects the key itself, because the argument is written to URLs and logs. */
export const keyArgument = (text: string): string => {
  const remedy = `see "${linklogCommand()} keys list"`;
  if (/^ll_[0-9A-Za-z]{38}$/.test(text)) {
    const message = `this is the key, which is a secret, not its id or its name; ${remedy}`;
    throw new CliError('USAGE', message);
  }
  if (text === '') throw new CliError('USAGE', `the id is empty; ${remedy}`);
  return text;
};

const key = ['<key>', 'id or name of the key', keyArgument] as const;

const plan = oneOf('plan', planNames);
const scope = oneOf('scope', scopeNames);
const scopeList = (list: string): Scope[] => (list === '' ? [] : list.split(',').map(scope));

const fieldsOf = (key: KeyResponse): [string, string][] => [
  ['id', key.id],
  ['name', key.name],
  ['plan', key.plan],
  ['account', key.account],
  ['scopes', key.scopes.join(', ') || 'none'],
  ['active', key.active ? 'yes' : 'no'],
  ...(key.rootId === key.id ? [] : [['derived from', key.rootId] as [string, string]]),
  ['expires', key.expiresAt ?? 'never'],
  ['created', key.createdAt],
];

const usageFields = (key: KeyWithUsageResponse): [string, string][] => {
  const { minute, month } = key.usage;
  return [
    ['last used', key.lastUsedAt ?? 'never'],
    ['this minute', `${count(minute.used)} of ${counted(minute.limit, 'call')}`],
    [
      'this month',
      `${counted(month.calls, 'call')}, ${counted(month.links, 'link')}, ` +
        `${counted(month.qrCodes, 'QR code')} (since ${month.month})`,
    ],
  ];
};

const head = ['ID', 'NAME', 'PLAN', 'ACCOUNT', 'ACTIVE', 'CALLS', 'LINKS', 'QR CODES', 'CREATED'];

const rowOf = (key: KeyWithUsageResponse): readonly string[] => [
  key.id,
  key.name,
  key.plan,
  key.account,
  key.active ? 'yes' : 'no',
  count(key.usage.month.calls),
  count(key.usage.month.links),
  count(key.usage.month.qrCodes),
  key.createdAt.slice(0, 10),
];

interface CreateOptions {
  readonly name?: string;
  readonly plan?: PlanName;
  readonly account: string;
  readonly scopes?: Scope[];
  readonly expiresIn?: number;
}

interface ChangeOptions {
  readonly name?: string;
  readonly plan?: PlanName;
  readonly scopes?: Scope[];
  readonly expiresIn?: number | 'never';
  readonly active?: true;
  readonly inactive?: true;
}

const requestOf = ({ active, inactive, expiresIn, ...values }: ChangeOptions): ChangeKeyRequest => {
  const request = {
    ...values,
    expiresIn: expiresIn === 'never' ? null : expiresIn,
    active: active ?? (inactive === undefined ? undefined : false),
  };
  if (Object.values(request).every((value) => value === undefined)) {
    const options = '--name, --plan, --scopes, --expires-in, --active or --inactive';
    throw new CliError('USAGE', `nothing to change: use ${options}`);
  }
  return request;
};

export const addKeyCommands = (
  program: Command,
  { connect, print, confirm }: CommandContext,
): void => {
  const keys = program.command('keys').description('create, show, change and revoke API keys');

  keys
    .command('create')
    .description('create a key and show it once')
    .option('--name <name>', 'display name, 1 to 100 characters')
    .option('--plan <plan>', planNames.join(', '), plan)
    .option('--account <account>', 'account that owns its links', 'default')
    .option('--scopes <list>', `comma-separated, default all: ${scopeNames.join(',')}`, scopeList)
    .option('--expires-in <duration>', 'end, from now: 30d, 12h, 90m …; default none', durationOf)
    .examples(
      'keys create --name "Build server" --plan PRO',
      'keys create --name shop --plan HOBBY --account shop --json | jq -r .key',
      'keys create --name reader --plan FREE --scopes links:read,stats:read --expires-in 30d',
    )
    .action(async (options: CreateOptions) => {
      const body: CreateKeyRequest = {
        name: required(options.name, '--name', 'keys create'),
        plan: required(options.plan, '--plan', 'keys create'),
        account: options.account,
        scopes: options.scopes,
        expiresIn: options.expiresIn,
      };
      const textOf = (key: CreatedKeyResponse): string =>
        `${formatFields([...fieldsOf(key), ['key', key.key]])}\n\nThe key is shown only this once: store it safely.`;
      print(changed(await (await connect()).call('createKey', { body }), textOf));
    });

  keys
    .command('list')
    .description('list all keys with their usage of this month')
    .examples('keys list', "keys list --json | jq -r '.keys[] | select(.active) | .name'")
    .action(async () => {
      const known = await (await connect()).listKeys();
      const text = known.length === 0 ? 'There are no keys yet.' : table(head, known.map(rowOf));
      print({ json: { keys: known }, text });
    });

  keys
    .command('show')
    .description('show a key with its usage of this minute and this month')
    .argument(...key)
    .examples('keys show 01990000-0000-7000-8000-000000000000', 'keys show "Build server"')
    .action(async (named: string) => {
      const client = await connect();
      const found = await client.get('getKey', await client.keyOf(named));
      print({ json: found, text: formatFields([...fieldsOf(found), ...usageFields(found)]) });
    });

  keys
    .command('change')
    .description('change a key; all nodes apply it within a second')
    .argument(...key)
    .option('--name <name>', 'display name')
    .option('--plan <plan>', planNames.join(', '), plan)
    .option('--scopes <list>', 'comma-separated scopes', scopeList)
    .option('--expires-in <duration>', 'end, from now, or "never"', durationOrNever)
    .addOption(new Option('--active', 'accept the key again').conflicts('inactive'))
    .addOption(new Option('--inactive', 'reject the key until it is active again'))
    .confirmed()
    .notes('\nOnly --inactive asks for a confirmation.')
    .examples(
      'keys change 01990000-0000-7000-8000-000000000000 --plan INDIE',
      'keys change shop --inactive',
    )
    .action(async (named: string, options: ChangeOptions) => {
      const body = requestOf(options);
      if (body.active === false) {
        await confirm({
          effect: `The API rejects all requests with the key ${named} until it is active again`,
        });
      }
      const client = await connect();
      const change = await client.call('changeKey', { ...(await client.keyOf(named)), body });
      print(changed(change, (state) => formatFields(fieldsOf(state))));
    });

  keys
    .command('revoke')
    .description('reject a key permanently')
    .argument(...key)
    .confirmed()
    .examples('keys revoke 01990000-0000-7000-8000-000000000000', 'keys revoke shop --yes')
    .action(async (named: string) => {
      await confirm({ effect: `The API rejects the key ${named} permanently` });
      const client = await connect();
      const change = await client.call('revokeKey', await client.keyOf(named));
      print(changed(change, ({ name, id }) => `Revoked: ${name} (${id})`));
    });
};
