import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { text as readAll } from 'node:stream/consumers';
import { csvRow } from '../../../schemas/csv.js';
import { linkStatuses } from '../../../schemas/folds/link-status.js';
import { linkSorts } from '../../../schemas/http/list-links.js';
import type { HistoryResponse } from '../../../schemas/http/history.js';
import type { OperatorsLink } from '../../../schemas/http/operators.js';
import { subjectOf } from '../../../schemas/link-subject.js';
import {
  durationOf,
  durationOrNever,
  linkArgument,
  linkDescription,
  oneOf,
  required,
  several,
  wholeNumber,
} from './arguments.js';
import type { AddCommands } from './command.js';
import { CliError, messageOf } from './errors.js';
import { changed, count, eventNameOf, formatFields, plain, table } from './output.js';
import { readPassword } from './password.js';
import { fieldsOf, optionFields, withOptionFlags, type OptionFlags } from './option-flags.js';
import { ruleFields } from './rule-text.js';

const plainOrNone = (text: string | null): string | null => text && plain(text);

/** Names the link in further commands. */
const nameOf = ({ domain, shortCode: code }: OperatorsLink): string => subjectOf({ domain, code });

const textOf = (link: OperatorsLink): string =>
  formatFields([
    ['short code', link.shortCode],
    ['domain', link.domain],
    ['short url', link.shortUrl],
    ['further codes', link.codes?.map(({ shortUrl }) => shortUrl).join(' ') ?? null],
    ['url', plain(link.url)],
    ...ruleFields(link),
    ...optionFields(link),
    ['account', link.account],
    ['status', link.status],
    ['title', plainOrNone(link.title)],
    ['note', plainOrNone(link.note)],
    ['tags', plainOrNone(link.tags.join(', ') || null)],
    ['password', link.hasPassword ? 'yes' : null],
    ['click limit', link.maxClicks === null ? null : count(link.maxClicks)],
    ['clicks left', link.clicksLeft === null ? null : count(link.clicksLeft)],
    ['clicks', count(link.clickCount)],
    ['last click', link.lastAccessed],
    ['starts', link.startsAt],
    ['expires', link.expiresAt],
    ['created', link.createdAt],
    ['changed', link.updatedAt],
    ['version', String(link.version)],
  ]);

const head = ['SHORT CODE', 'ACCOUNT', 'STATUS', 'CLICKS', 'CREATED', 'URL'];

const rowOf = (link: OperatorsLink): readonly string[] => [
  ...[nameOf(link), link.account, link.status, count(link.clickCount)],
  ...[link.createdAt.slice(0, 10), plain(link.url)],
];

/** The other options are the filter. */
interface ListOptions {
  readonly limit: number;
  readonly after?: string;
  readonly csv?: true;
}

const maxListed = 10_000;

/** @throws CliError */
const listLimit = (word: string): number => {
  const limit = wholeNumber('number of links')(word);
  if (limit >= 1 && limit <= maxListed) return limit;
  throw new CliError('USAGE', `--limit must be between 1 and ${maxListed}`);
};

interface EditOptions extends Omit<OptionFlags, 'rules'> {
  readonly url?: string;
  readonly expiresIn?: number | 'never';
  readonly expiresAt?: string;
  readonly startsAt?: string;
  readonly maxClicks?: number | 'none';
  /** `false` for `--no-…`, here and below. */
  readonly password?: boolean;
  readonly title?: string | false;
  readonly note?: string | false;
  readonly tag?: readonly string[];
  readonly tags: boolean;
  /** A file; `-`: stdin. */
  readonly rules?: string | false;
  readonly ifVersion?: number;
}

/** Reads a JSON file; `-` is stdin. @throws CliError */
const readRules = async (file: string): Promise<unknown> => {
  try {
    return JSON.parse(await (file === '-' ? readAll(process.stdin) : readFile(file, 'utf8')));
  } catch (cause) {
    const source = file === '-' ? 'stdin' : file;
    const message = `the rules cannot be read from ${source}: ${messageOf(cause)}`;
    throw new CliError('USAGE', message, { cause });
  }
};

/** A field with `null` is removed, one with `undefined` is not sent. @throws CliError */
const changeOf = async (options: EditOptions): Promise<object> => {
  const { url, expiresIn, expiresAt, startsAt, maxClicks } = options;
  const { password, title, note, tag, tags, rules } = options;
  if (tag && !tags) throw new CliError('USAGE', '--tag and --no-tags exclude each other');
  if (password === true && rules === '-') {
    throw new CliError('USAGE', '--password and --rules - exclude each other');
  }
  const change = {
    ...{ url, expiresAt, tags: tags ? tag : null },
    ...fieldsOf(options),
    expiresIn: expiresIn === 'never' ? null : expiresIn,
    startsAt: startsAt === 'now' ? null : startsAt,
    maxClicks: maxClicks === 'none' ? null : maxClicks,
    title: title === false ? null : title,
    note: note === false ? null : note,
    rules: rules === false ? null : rules && (await readRules(rules)),
    password: password === false ? null : password && (await readPassword()),
  };
  if (Object.values(change).some((value) => value !== undefined)) return change;
  throw new CliError(
    'USAGE',
    'nothing to change: use --url, --expires-in, --expires-at, --starts-at, --max-clicks, --password, --title, ' +
      '--note, --tag, --rules or a flag of an option',
  );
};

const version = wholeNumber('version');

/** The other options are fields of the request. */
interface CreateOptions extends Omit<OptionFlags, 'rules'> {
  readonly tag?: readonly string[];
  readonly password?: true;
}

const csvColumns = [
  ...(['domain', 'shortCode', 'shortUrl', 'account', 'status', 'url', 'title', 'note'] as const),
  ...(['tags', 'clickCount', 'lastAccessed', 'createdAt', 'startsAt', 'expiresAt'] as const),
  'maxClicks',
] as const;

/** Returns the rows without the final LF, which `print` adds. `null` is empty; tags have no commas. */
const csvOf = (links: readonly OperatorsLink[]): string =>
  [csvColumns, ...links.map((link) => csvColumns.map((name) => String(link[name] ?? '')))]
    .map((row) => csvRow(row))
    .join('')
    .replace(/\n$/, '');

const historyRowOf = ({ time, type, actor, data }: HistoryResponse['events'][number]): string[] => {
  const { reason, url, ...rest } = data;
  const why = reason ?? url ?? Object.values(rest).join(', ');
  return [time, eventNameOf(type), actor ?? '', typeof why === 'string' ? why : ''];
};

export const addLinkCommands: AddCommands = (program, { connect, print, confirm }) => {
  const links = program
    .command('links')
    .description('create, show, change, delete and block links of any account');

  const create = links
    .command('create')
    .description('create a link and print its short URL')
    .argument('<url>', 'destination');
  withOptionFlags(create, { removes: false })
    .option('--alias <alias>', 'short code; reserved ones are allowed; default a generated one')
    .option('--domain <domain>', 'active domain of the account')
    .option('--title <title>', 'title')
    .option('--note <note>', 'note')
    .option('--tag <tag>', 'tag; repeatable', several(String))
    .option('--expires-in <duration>', 'end, from now: 30d, 12h, 90m …', durationOf)
    .option('--expires-at <time>', 'end: ISO 8601 with an offset')
    .option('--starts-at <time>', 'start: ISO 8601 with an offset')
    .option('--max-clicks <n>', 'click limit', wholeNumber('number of clicks'))
    .option('--password', 'password, read from the terminal or the first line of stdin')
    .option('--account <account>', 'account that owns the link', 'default')
    .notes('\nThe link uses no quota of the account, and switches do not apply.')
    .examples(
      'links create https://example.com/',
      'links create https://example.com/sale --alias spring-sale --tag sale --expires-in 30d',
      'links create https://example.com/docs --alias docs --forward-path --redirect-status 301',
      'links create https://example.com/ --account shop --json | jq -r .shortCode',
    )
    .action(async (url: string, { tag, password, ...options }: CreateOptions) => {
      const secret = password && (await readPassword());
      const body = { url, ...options, ...fieldsOf(options), tags: tag, password: secret };
      const created = await (await connect()).call('createLink', { body });
      print(changed(created, ({ shortUrl }) => shortUrl));
    });

  links
    .command('list')
    .description('list the links of one account or of all accounts, newest first')
    .option('--account <account>', 'only links of this account')
    .option('--domain <domain>', 'only links on this domain')
    .option('--status <status>', linkStatuses.join(', '), oneOf('status', linkStatuses))
    .option(
      '--search <terms>',
      'only links with all of these terms in short code, destination, title, note or tags',
    )
    .option('--tag <tag>', 'only links with this tag; repeatable', several(String))
    .option('--destination <host>', 'only links with this host in a destination')
    .option(
      '--created-after <time>',
      'only links created at this time or later: ISO 8601 with an offset, or a date',
    )
    .option('--created-before <time>', 'only links created before this time')
    .option('--tz <zone>', 'time zone of the dates; default UTC')
    .option('--sort <order>', linkSorts.join(' or '), oneOf('order', linkSorts))
    .option('--limit <n>', `maximum number of links, up to ${maxListed}`, listLimit, 100)
    .option('--after <next>', 'continue after the "next" of the previous list')
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .notes('\nDeleted links are listed only with --status deleted.')
    .examples(
      'links list --account shop --sort clicks --limit 20',
      'links list --domain go.example.com',
      'links list --destination shop.example --status active',
      "links list --search spring --json | jq -r '.links[].shortCode'",
      'links list --account shop --limit 10000 --csv > links.csv',
    )
    .action(async ({ limit, after, csv, ...filter }: ListOptions) => {
      const query = { filter, limit, after: after ?? null };
      const { links: found, next } = await (await connect()).listLinks(query);
      const list = found.length === 0 ? 'No links match.' : table(head, found.map(rowOf));
      const text = csv ? csvOf(found) : list;
      const notice = next === null ? undefined : `there may be more: --after ${next}`;
      print({ json: { links: found, next }, text, notice });
    });

  links
    .command('show')
    .description('show a link with its account')
    .argument('<code>', linkDescription, linkArgument)
    .examples('links show spring-sale', 'links show go.example.com/spring --json | jq -r .url')
    .action(async (code: string) => {
      const client = await connect();
      const link = await client.get('getLink', await client.linkOf(code));
      print({ json: link, text: textOf(link) });
    });

  const ifVersion = [
    '--if-version <n>',
    'only if the link still has this version',
    version,
  ] as const;

  const edit = links
    .command('edit')
    .description('change a link; all edges apply it within a second')
    .argument('<code>', linkDescription, linkArgument);
  withOptionFlags(edit, { removes: true })
    .option('--url <url>', 'destination')
    .option('--expires-in <duration>', 'end, from now, or "never"', durationOrNever)
    .option('--expires-at <time>', 'end: ISO 8601 with an offset')
    .option('--starts-at <time>', 'start: ISO 8601 with an offset, or "now"')
    .option('--max-clicks <n>', 'click limit, or "none"', (word) =>
      word === 'none' ? word : wholeNumber('number of clicks')(word),
    )
    .option('--password', 'password, read from the terminal or the first line of stdin')
    .option('--no-password', 'remove the password')
    .option('--title <title>', 'title')
    .option('--no-title', 'remove the title')
    .option('--note <note>', 'note')
    .option('--no-note', 'remove the note')
    .option('--tag <tag>', 'replace all tags; repeatable', several(String))
    .option('--no-tags', 'remove all tags')
    .option('--rules <file>', 'replace all redirect rules by a JSON array; "-" is stdin')
    .option('--no-rules', 'remove all redirect rules')
    .option(...ifVersion)
    .examples(
      'links edit spring-sale --url https://example.com/summer --title "Summer sale"',
      'links edit spring-sale --tag sale --tag summer --expires-in never',
      'links edit spring-sale --password < password-file',
      'links edit spring-sale --rules rules.json',
      'links edit spring-sale --expired-url https://example.com/over --no-forward-path',
      'links edit spring-sale --no-password --if-version 3',
    )
    .action(async (code: string, options: EditOptions) => {
      const body = await changeOf(options);
      const client = await connect();
      const link = await client.linkOf(code, options.ifVersion);
      print(changed(await client.call('changeLink', { ...link, body }), textOf));
    });

  for (const [name, disabled, description] of [
    ['disable', true, 'return 410 until the link is enabled'],
    ['enable', false, 'redirect again, unless the link is blocked or expired'],
  ] as const) {
    links
      .command(name)
      .description(description)
      .argument('<code>', linkDescription, linkArgument)
      .option(...ifVersion)
      .examples(`links ${name} spring-sale`)
      .action(async (code: string, options: Pick<EditOptions, 'ifVersion'>) => {
        const client = await connect();
        const link = await client.linkOf(code, options.ifVersion);
        const change = await client.call('changeLink', { ...link, body: { disabled } });
        print(changed(change, (value) => `${nameOf(value)} is ${value.status} now`));
      });
  }

  links
    .command('delete')
    .description('delete a link; for 30 days it can be restored')
    .argument('<code>', linkDescription, linkArgument)
    .option(...ifVersion)
    .confirmed()
    .examples('links delete spring-sale', 'links delete spring-sale --yes')
    .action(async (code: string, options: Pick<EditOptions, 'ifVersion'>) => {
      await confirm({
        effect: `The link ${code} returns 410, and can be restored for 30 days`,
      });
      const client = await connect();
      const deletion = await client.call(
        'deleteLink',
        await client.linkOf(code, options.ifVersion),
      );
      print(changed(deletion, (link) => `Deleted: ${nameOf(link)}`));
    });

  links
    .command('restore')
    .description('restore a link that was deleted in the last 30 days')
    .argument('<code>', linkDescription, linkArgument)
    .examples('links restore spring-sale')
    .action(async (code: string) => {
      const client = await connect();
      const restoration = await client.call('restoreLink', await client.linkOf(code));
      print(changed(restoration, (link) => `${nameOf(link)} is ${link.status} now`));
    });

  for (const [name, reason, description] of [
    ['block', 'phishing', 'return 410 instead of redirecting, on all nodes within a second'],
    ['unblock', 'reported by mistake', 'redirect again, unless the link has expired'],
  ] as const) {
    links
      .command(name)
      .description(description)
      .argument('<code>', linkDescription, linkArgument)
      .option('--reason <reason>', 'reason for the history; 1 to 500 characters')
      .examples(`links ${name} spring-sale --reason "${reason}"`)
      .action(async (code: string, options: { readonly reason?: string }) => {
        const given = required(options.reason, '--reason', `links ${name}`);
        const client = await connect();
        const link = await client.linkOf(code);
        const change = await client.call(`${name}Link`, { ...link, body: { reason: given } });
        const done = name === 'block' ? 'Blocked' : 'Unblocked';
        print(changed(change, ({ shortCode }) => `${done}: ${shortCode}`));
      });
  }

  links
    .command('history')
    .description('show the changes of a link, oldest first, without visits')
    .argument('<code>', linkDescription, linkArgument)
    .examples(
      'links history spring-sale',
      "links history spring-sale --json | jq -r '.events[].actor'",
    )
    .action(async (code: string) => {
      const client = await connect();
      const pages = await client.pages('getLinkHistory', await client.linkOf(code));
      const events = pages.flatMap((page) => page.events);
      const columns = ['TIME', 'WHAT', 'WHO', 'WHY'];
      print({ json: { events }, text: table(columns, events.map(historyRowOf)) });
    });
};
