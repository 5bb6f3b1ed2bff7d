import { keyAsOf, type KeySnapshot, type Spent } from './key.js';
import { linkAsOf, type LinkSnapshot } from './link.js';
import { peopleAsOf, type PeopleSnapshot } from './people.js';
import { platformAsOf, type PlatformSnapshot } from './platform.js';
import { beginningOf, type ReadSummary, type AsOfQuery } from './read.js';
import { subjectOf } from '../../../../schemas/link-subject.js';
import { labelOf, tableOf, type Lists } from '../../../../command-api/statistics/tables.js';
import { dimensionNames, type Dimension } from '../../../../schemas/statistics/document.js';
import type { Config } from '../../../config/config.js';
import type { AddCommands } from '../../cli/command.js';
import { linkArgument, linkDescription, notEmpty, timeOf } from '../../cli/arguments.js';
import { runOnDatabase, subjectNamed } from '../../cli/database.js';
import { CliError } from '../../cli/errors.js';
import { count, counted, formatFields, plain, table, type Output } from '../../cli/output.js';
import { optionFields } from '../../cli/option-flags.js';
import { ruleFields } from '../../cli/rule-text.js';

const pastMoment = (text: string): Date => {
  const moment = new Date(timeOf(text));
  if (moment.getTime() <= Date.now()) return moment;
  throw new CliError('USAGE', `${moment.toISOString()} is in the future`);
};

const formatReadSummary = ({ readUpTo }: ReadSummary): string => {
  const lines = Object.entries(readUpTo).map(([topic, partitions]) => {
    const ends = Object.entries(partitions).map(([partition, next]) => `${partition}:${next}`);
    return `  ${[topic, ...ends].join(' ')}`;
  });
  return [
    'Read from the log, by partition, up to the offset (exclusive):',
    ...lines,
    'Events that are appended later, such as visits of a spool, can change this result.',
  ].join('\n');
};

const outputOf = (snapshot: ReadSummary, lines: string): Output => ({
  json: snapshot,
  text: `${lines}\n\n${formatReadSummary(snapshot)}`,
  ...(snapshot.unreadable > 0 && {
    notice: `${counted(snapshot.unreadable, 'unreadable record')} omitted`,
  }),
});

/** Values of each list in the text output; --json has all values. */
const shownValues = 5;

const valuesText = (lists: Lists, name: Dimension): string => {
  const { rows } = tableOf(lists, name);
  const values = rows.slice(0, shownValues).map(({ values, clicks }) => {
    const label = labelOf(values);
    return `${label === null ? '(not recorded)' : plain(label)} ${count(clicks)}`;
  });
  const omitted = rows.length - values.length;
  if (omitted > 0) values.push(`and ${counted(omitted, 'more value')}`);
  return values.join(', ') || 'none';
};

const linkText = (snapshot: LinkSnapshot): string => {
  const { asOf } = snapshot;
  const link = subjectOf({ domain: snapshot.domain, code: snapshot.shortCode });
  if (snapshot.state === 'none') {
    const later = snapshot.madeLater === null ? '' : `; it was created at ${snapshot.madeLater}`;
    return `At ${asOf} there was no link ${link}${later}`;
  }
  const { blocked, expired, expiresAt, maxClicks, clickCount, importedClicks } = snapshot;
  // The tags of the link are not a list of clicks.
  const lists = { ...snapshot, tags: undefined };
  const limit = maxClicks === null ? '' : ` of ${count(maxClicks)}`;
  return formatFields([
    ['at', asOf],
    ['link', link],
    ['state', snapshot.state],
    ['blocked', blocked && `${blocked.at} by ${blocked.by ?? 'unknown'}: ${plain(blocked.reason)}`],
    ['expired', expired && (expired === 'time' ? 'end of its period' : 'click limit')],
    ['destination', plain(snapshot.url)],
    ...ruleFields(snapshot),
    ...optionFields(snapshot),
    ['account', snapshot.account],
    ['created', `${snapshot.createdAt} with the key ${snapshot.keyId}`],
    ['expires', expiresAt ?? 'never'],
    ['password', snapshot.hasPassword ? 'yes' : 'no'],
    ['clicks', `${count(clickCount)}${limit}, and ${count(snapshot.botCount)} by bots`],
    ['imported', importedClicks === 0 ? null : `${count(importedClicks)} of the clicks`],
    ['last click', snapshot.lastAccessed ?? 'none'],
    ['uniques', `${count(snapshot.uniques)}, the sum of all UTC days`],
    ...dimensionNames.map((name) => [name, valuesText(lists, name)] as const),
  ]);
};

const spentText = ({ used, usedAtMost, limit, exhausted }: Spent): string => {
  const range = usedAtMost === used ? count(used) : `${count(used)} to ${count(usedAtMost)}`;
  if (limit === null) return `${range}, unlimited`;
  const suffix = exhausted === null ? ' (possibly exhausted)' : exhausted ? ' (exhausted)' : '';
  return `${range} of ${count(limit)}${suffix}`;
};

const keyText = (snapshot: KeySnapshot): string =>
  formatFields([
    ['at', snapshot.asOf],
    ['key', snapshot.id],
    ['name', snapshot.name],
    ['plan', snapshot.plan],
    ['account', snapshot.account],
    ['status', snapshot.status],
    ['created', snapshot.createdAt],
    ['last change', `${snapshot.lastChange.at} by ${snapshot.lastChange.by}`],
    ['month', `since ${snapshot.month}, with the current limits of the plan`],
    ['calls', spentText(snapshot.calls)],
    ['links', spentText(snapshot.links)],
    ['QR codes', spentText(snapshot.qrCodes)],
  ]);

const platformText = (snapshot: PlatformSnapshot): string => {
  const { active, expired, blocked } = snapshot.links;
  const switches = Object.entries({ maintenance: snapshot.maintenance, ...snapshot.features });
  const aliases = snapshot.overrides.map(({ alias, account }) => `${alias} for ${account}`);
  const domains = snapshot.domains.map(({ domain, account }) => `${domain} of ${account}`);
  const keys = snapshot.keys.map((key) => [key.id, key.name, key.plan, key.account, key.status]);
  return [
    formatFields([
      ['at', snapshot.asOf],
      ...switches.map(([name, on]) => [name, on ? 'on' : 'off'] as const),
      ['links', `${count(active)} active, ${count(expired)} expired, ${count(blocked)} blocked`],
      ['reserved aliases', aliases.join(', ') || 'none'],
      ['domains', domains.join(', ') || 'none'],
      ['UTM templates', count(snapshot.utmTemplates.length)],
    ]),
    '',
    keys.length === 0
      ? 'There were no keys.'
      : table(['KEY', 'NAME', 'PLAN', 'ACCOUNT', 'STATUS'], keys),
  ].join('\n');
};

const peopleText = ({ asOf, account, people }: PeopleSnapshot): string =>
  people.length === 0
    ? `At ${asOf} no person had a role in the account ${account}`
    : `At ${asOf}, people with a role in the account ${account}:\n\n${table(
        ['PERSON', 'NAME', 'ROLE', 'SOURCE', 'ADDED'],
        people.map(({ id, name, role, source, addedAt }) => [
          ...[id, plain(name ?? '-'), role, source, addedAt],
        ]),
      )}`;

/** @throws CliError if the log begins after the time */
const requireBegun = async ({ log, moment }: AsOfQuery): Promise<void> => {
  const beginning = await beginningOf(log);
  if (beginning !== null && beginning <= moment.toISOString()) return;
  throw new CliError(
    'REFUSED',
    beginning === null
      ? 'the log is empty'
      : `the log begins at ${beginning}, after ${moment.toISOString()}`,
  );
};

interface Subject {
  readonly key?: string;
  /** An account. */
  readonly people?: string;
}

const asOf = (
  config: Config,
  moment: Date,
  link: string | undefined,
  { key, people }: Subject,
): Promise<Output> => {
  if ([link, key, people].filter((subject) => subject !== undefined).length > 1) {
    throw new CliError('USAGE', 'a short code, --key and --people exclude each other');
  }
  return runOnDatabase(config, { title: 'as-of', work: 'the query' }, async (database) => {
    const query = { ...database, moment };
    await requireBegun(query);
    if (link !== undefined) {
      const snapshot = await linkAsOf(query, await subjectNamed(database.pool, config, link));
      return outputOf(snapshot, linkText(snapshot));
    }
    if (key !== undefined) {
      const snapshot = await keyAsOf(query, key, config.plans);
      return outputOf(snapshot, keyText(snapshot));
    }
    if (people !== undefined) {
      const snapshot = await peopleAsOf(query, people);
      return outputOf(snapshot, peopleText(snapshot));
    }
    const snapshot = await platformAsOf(query);
    return outputOf(snapshot, platformText(snapshot));
  });
};

export const addAsOfCommand: AddCommands = (audit, { readConfig, print }) => {
  audit
    .command('as-of')
    .description('show a link, a key, people or the platform at a time in the past, from the log')
    .argument('<time>', 'ISO 8601 with its zone, or a date for 00:00 UTC', pastMoment)
    .argument('[code]', `${linkDescription}; without it, the platform`, linkArgument)
    .option('--key <id or name>', 'a key, its plan, and its usage of the month')
    .option('--people <account>', 'who had which role in an account', notEmpty('account'))
    .notes(
      `
Events at the given time are included. A link is expired from its end on, as for visitors, and the calls of a
key are counted by minute.

Examples:
  $ linklog audit as-of 2026-05-20T14:30:00Z
  $ linklog audit as-of 2026-05-20T16:30:00+02:00 spring-sale
  $ linklog audit as-of 2026-05-20 go.example.com/spring-sale
  $ linklog audit as-of 2026-05-15 --key "Build server" --json
  $ linklog audit as-of 2026-05-15 --people acme`,
    )
    .action(async (moment: Date, link: string | undefined, subject: Subject) => {
      print(await asOf(readConfig(), moment, link, subject));
    });
};
