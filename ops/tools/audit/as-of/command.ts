import { keyAsOf, type KeyThen, type Spent } from './key.js';
import { linkAsOf, type LinkThen } from './link.js';
import { platformAsOf, type PlatformThen } from './platform.js';
import { beginningOf, type Grounds, type LookBack } from './read.js';
import { dimensionNames } from '../../../../schemas/statistics/document.js';
import type { Config } from '../../../config/config.js';
import type { Command, CommandContext } from '../../cli/command.js';
import { shortCodeArgument, timeOf } from '../../cli/arguments.js';
import { runOnDatabase } from '../../cli/database.js';
import { CliError } from '../../cli/errors.js';
import { count, counted, facts, plain, table, type Answer } from '../../cli/output.js';

const pastMoment = (text: string): Date => {
  const moment = new Date(timeOf(text));
  if (moment.getTime() <= Date.now()) return moment;
  throw new CliError('USAGE', `${moment.toISOString()} is in the future`);
};

const groundsText = ({ readUpTo }: Grounds): string => {
  const lines = Object.entries(readUpTo).map(([topic, partitions]) => {
    const ends = Object.entries(partitions).map(([partition, next]) => `${partition}:${next}`);
    return `  ${[topic, ...ends].join(' ')}`;
  });
  return [
    'Read from the log, by partition, up to but without the offset:',
    ...lines,
    'What reaches the log later, as visits of a spool may, can add to this.',
  ].join('\n');
};

const answerOf = (then: Grounds, lines: string): Answer => ({
  json: then,
  text: `${lines}\n\n${groundsText(then)}`,
  ...(then.unreadable > 0 && {
    notice: `${counted(then.unreadable, 'record')} could not be read, and are not in this`,
  }),
});

/** Values of each list in the text output; --json has all values. */
const shownValues = 5;

const valuesText = (
  list: readonly { readonly value: string | null; readonly clicks: number }[],
): string => {
  const words = list
    .slice(0, shownValues)
    .map(
      ({ value, clicks }) => `${value === null ? '(not recorded)' : plain(value)} ${count(clicks)}`,
    );
  const omitted = list.length - words.length;
  if (omitted > 0) words.push(`and ${counted(omitted, 'more value')}`);
  return words.join(', ') || 'none';
};

const linkText = (then: LinkThen): string => {
  const { asOf, shortCode } = then;
  if (then.state === 'none') {
    const later = then.madeLater === null ? '' : `; it was made at ${then.madeLater}`;
    return `At ${asOf} there was no link ${shortCode}${later}`;
  }
  const { blocked, expired, expiresAt, maxClicks, clickCount } = then;
  const limit = maxClicks === null ? '' : ` of ${count(maxClicks)}`;
  return facts([
    ['at', asOf],
    ['link', shortCode],
    ['state', then.state],
    ['blocked', blocked && `${blocked.at} by ${blocked.by ?? 'unknown'}: ${plain(blocked.reason)}`],
    ['expired', expired && (expired === 'time' ? 'its time was up' : 'its clicks were used up')],
    ['leads to', plain(then.url)],
    ['account', then.account],
    ['made', `${then.createdAt} with the key ${then.keyId}`],
    ['expires', expiresAt ?? 'never'],
    ['password', then.hasPassword ? 'yes' : 'no'],
    ['clicks', `${count(clickCount)}${limit}, and ${count(then.botCount)} of bots`],
    ['last click', then.lastAccessed ?? 'none'],
    ['uniques', `${count(then.uniques)}, added up over UTC days`],
    ...dimensionNames.map((name) => [name, valuesText(then[name])] as const),
  ]);
};

const spentText = ({ used, usedAtMost, limit, exhausted }: Spent): string => {
  const many = usedAtMost === used ? count(used) : `${count(used)} to ${count(usedAtMost)}`;
  if (limit === null) return `${many}, without a limit`;
  const more =
    exhausted === null ? 'one more may have been refused' : 'one more would have been refused';
  return `${many} of ${count(limit)}${exhausted === false ? '' : `: ${more}`}`;
};

const keyText = (then: KeyThen): string =>
  facts([
    ['at', then.asOf],
    ['key', then.id],
    ['name', then.name],
    ['plan', then.plan],
    ['account', then.account],
    ['status', then.status],
    ['created', then.createdAt],
    ['last change', `${then.lastChange.at} by ${then.lastChange.by}`],
    ['month', `since ${then.month}, of what its plan allows as plans are configured now`],
    ['calls', spentText(then.calls)],
    ['links', spentText(then.links)],
    ['QR codes', spentText(then.qrCodes)],
  ]);

const platformText = (then: PlatformThen): string => {
  const { active, expired, blocked } = then.links;
  const switches = Object.entries({ maintenance: then.maintenance, ...then.features });
  const aliases = then.overrides.map(({ alias, account }) => `${alias} for ${account}`);
  const keys = then.keys.map((key) => [key.id, key.name, key.plan, key.account, key.status]);
  return [
    facts([
      ['at', then.asOf],
      ...switches.map(([name, on]) => [name, on ? 'on' : 'off'] as const),
      ['links', `${count(active)} active, ${count(expired)} expired, ${count(blocked)} blocked`],
      ['reserved aliases', aliases.join(', ') || 'none'],
    ]),
    '',
    keys.length === 0
      ? 'There were no keys.'
      : table(['KEY', 'NAME', 'PLAN', 'ACCOUNT', 'STATUS'], keys),
  ].join('\n');
};

/** @throws CliError if the log begins after the time */
const requireBegun = async ({ log, moment }: LookBack): Promise<void> => {
  const beginning = await beginningOf(log);
  if (beginning !== null && beginning <= moment.toISOString()) return;
  throw new CliError(
    'REFUSED',
    beginning === null
      ? 'the log is empty'
      : `nothing had happened at ${moment.toISOString()}: the log begins at ${beginning}`,
  );
};

const asOf = (
  config: Config,
  moment: Date,
  code: string | undefined,
  key: string | undefined,
): Promise<Answer> => {
  if (code !== undefined && key !== undefined) {
    throw new CliError('USAGE', 'give a short code or --key, not both');
  }
  const words = { title: 'as-of', stopped: 'stopped; nothing was changed', ended: 'stopped' };
  return runOnDatabase(config, words, async (database) => {
    const look = { ...database, moment };
    await requireBegun(look);
    if (code !== undefined) {
      const then = await linkAsOf(look, code);
      return answerOf(then, linkText(then));
    }
    if (key !== undefined) {
      const then = await keyAsOf(look, key, config.plans);
      return answerOf(then, keyText(then));
    }
    const then = await platformAsOf(look);
    return answerOf(then, platformText(then));
  });
};

export const addAsOfCommand = (audit: Command, { readConfig, print }: CommandContext): void => {
  audit
    .command('as-of')
    .description('what a link, a key or the whole platform was at a moment, by the log alone')
    .argument(
      '<time>',
      'ISO 8601 with its zone, or a day, which is its first moment in UTC',
      pastMoment,
    )
    .argument('[code]', 'the short code of a link; without it, the platform', shortCodeArgument)
    .option('--key <id or name>', 'a key instead: its plan, and what it had spent of it that month')
    .notes(
      `
Events of that very millisecond have happened. A link has expired when its time is up, as visitors see
it, and a key's calls count by the minute that they were made in.

Examples:
  $ linklog audit as-of 2026-05-20T14:30:00Z
  $ linklog audit as-of 2026-05-20T16:30:00+02:00 spring-sale
  $ linklog audit as-of 2026-05-15 --key "Build server" --json`,
    )
    .action(async (moment: Date, code: string | undefined, { key }: { readonly key?: string }) => {
      print(await asOf(readConfig(), moment, code, key));
    });
};
