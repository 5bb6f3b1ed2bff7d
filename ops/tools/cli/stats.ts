import { Option } from 'commander';
import { stringify } from 'csv-stringify/sync';
import plot from 'simple-ascii-chart';
import { findAccountStats } from '../../../command-api/statistics/account-statistics.js';
import { findLinkStats } from '../../../command-api/statistics/statistics.js';
import { labelOf, tableOf, type Stats } from '../../../command-api/statistics/tables.js';
import { messages } from '../../../schemas/http/errors.js';
import {
  accountStatsQuery,
  readStatsQuery,
  statsQuery,
  tables,
} from '../../../schemas/http/statistics.js';
import { defaultDomainOf, filteredDomain } from '../../../schemas/link-subject.js';
import { linkArgument, linkDescription, several } from './arguments.js';
import type { AddCommands } from './command.js';
import { subjectNamed, withDatabase } from './database.js';
import { CliError } from './errors.js';
import { count, formatFields, plain, table } from './output.js';

const filters = ['domain', 'tag', 'destination', 'search'] as const;

/** The other options are the query. */
interface StatsOptions extends Partial<Record<(typeof filters)[number], unknown>> {
  readonly account: string;
  readonly csv?: true;
}

/** The width in terminal columns, without those of the axis. */
const plotWidth = 72;
const plotHeight = 10;

const plotOf = (timeseries: Stats['timeseries'] = []): string => {
  const max = Math.max(1, ...timeseries.map(({ clicks }) => clicks));
  return plot(
    timeseries.map(({ clicks }, index): [number, number] => [index, clicks]),
    {
      width: plotWidth,
      height: plotHeight,
      yRange: [0, max],
      customYAxisTicks: [0, Math.ceil(max / 2), max],
      hideXAxisTicks: true,
      formatter: count,
    },
  );
};

const numberOrNone = (value: number | undefined): string | null =>
  value === undefined ? null : count(value);

const formatSummary = (stats: Stats): string => {
  const { period } = stats;
  const own: [string, string | null][] =
    'shortCode' in stats
      ? [
          ['short code', stats.shortCode],
          ['url', plain(stats.url)],
          ['created', stats.createdAt],
          ['expires', stats.expiresAt],
          ['click limit', stats.maxClicks === null ? null : count(stats.maxClicks)],
          ['clicks', count(stats.clickCount)],
          ['last click', stats.lastAccessed],
        ]
      : [
          ['links', count(stats.linkCount)],
          ['clicks', count(stats.clickCount)],
        ];
  return formatFields([
    ...own,
    ['period', period ? `${period.from} to ${period.to}, ${period.tz}` : null],
    ['clicks in it', numberOrNone(period?.clickCount)],
    ['bots in it', numberOrNone(stats.bots)],
    ['uniques in it', numberOrNone(stats.uniques)],
  ]);
};

interface List {
  readonly name: string;
  readonly rows: readonly (readonly [value: string | null, clicks: number])[];
}

const lists = tables.filter((name) => name !== 'timeseries');

const listsOf = (stats: Stats): readonly List[] =>
  lists
    .filter((name) => name in stats)
    .map((name) => {
      const rows = tableOf(stats, name).rows.map(
        ({ values, clicks }) => [labelOf(values), clicks] as const,
      );
      return { name, rows };
    });

const textOf = (stats: Stats): string => {
  const { timeseries } = stats;
  const series = timeseries && [
    plotOf(timeseries),
    table(
      ['START', 'CLICKS', 'BOTS', 'UNIQUES'],
      timeseries.map(({ start, clicks, bots, uniques }) => [
        start,
        ...[clicks, bots, uniques].map((value) => numberOrNone(value) ?? '-'),
      ]),
    ),
  ];
  const lists = listsOf(stats).map(({ name, rows }) =>
    table(
      [name.toUpperCase(), 'CLICKS'],
      rows.map(([value, clicks]) => [
        value === null ? '(not recorded)' : plain(value),
        count(clicks),
      ]),
    ),
  );
  return [formatSummary(stats), ...(series ?? []), ...lists].join('\n\n');
};

/** RFC 4180 with LF line ends; a value that was not recorded is empty. */
const csvOf = (stats: Stats): string =>
  stringify(
    [
      ['list', 'value', 'clicks', 'bots', 'uniques'],
      ['period', null, stats.period?.clickCount, stats.bots, stats.uniques],
      ...(stats.timeseries ?? []).map(({ start, clicks, bots, uniques }) => [
        ...['timeseries', start, clicks, bots, uniques],
      ]),
      ...listsOf(stats).flatMap(({ name, rows }) => rows.map((row) => [name, ...row, null, null])),
    ],
    // Clients choose some values, such as referrers.
    { escape_formulas: true },
  ).trimEnd();

export const addStatsCommand: AddCommands = (program, { readConfig, print }) => {
  program
    .command('stats')
    .description('show the statistics of a link or of an account')
    .argument(
      '[code]',
      `${linkDescription}; without it, the statistics of an account`,
      linkArgument,
    )
    .option('--account <account>', 'the account if there is no short code', 'default')
    .option('--domain <domain>', 'only links of the account on this domain')
    .option('--tag <tag>', 'only links of the account with this tag; repeatable', several(String))
    .option('--destination <host>', 'only links of the account with this host as a destination')
    .option('--search <terms>', 'only links of the account whose texts contain all of these terms')
    .option('--include <names>', 'comma-separated lists to show', 'all')
    .option('--from <time>', 'ISO 8601; default 30 days before the end')
    .option('--to <time>', 'ISO 8601, exclusive; default now')
    .option('--interval <interval>', 'hour, day, week or month')
    .option('--tz <zone>', 'IANA time zone of days and hours')
    .option('--limit <values>', 'maximum length of each list, 1 to 200')
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .examples(
      'stats spring-sale',
      'stats spring-sale --from 2026-05-01 --to 2026-06-01 --tz Europe/Berlin --include countries,bots',
      'stats go.example.com/spring-sale',
      'stats --account shop --domain go.example.com',
      'stats --account shop --tag spring --include campaigns,tags',
      'stats --account shop --interval month --from 2026-01-01 --include timeseries,links --csv',
    )
    .action(async (link: string | undefined, { account, csv, ...query }: StatsOptions) => {
      const filter = filters.find((name) => query[name] !== undefined);
      if (link !== undefined && filter !== undefined) {
        const hint = filter === 'domain' ? ': use domain/code' : '';
        throw new CliError('USAGE', `a link and --${filter} exclude each other${hint}`);
      }
      const config = readConfig();
      const request = readStatsQuery(
        link === undefined ? accountStatsQuery : statsQuery,
        query,
        new Date(),
      );
      if ('refused' in request) throw new CliError('USAGE', request.refused);
      // Without SHORT_URL_HOST, the service has short URLs of localhost.
      const defaultDomain = defaultDomainOf(config.shortUrlHost ?? 'http://localhost');
      const domain = filteredDomain(request.domain, defaultDomain);
      const found = await withDatabase(config, async ({ pool, outbox }) =>
        link === undefined
          ? findAccountStats(pool, outbox, account, { ...request, domain })
          : findLinkStats(pool, outbox, await subjectNamed(pool, config, link), request),
      );
      if (found === null) throw new CliError('REFUSED', messages.codeNotFound);
      if (found === 'incomplete') throw new CliError('REFUSED', messages.statsIncomplete);
      if (typeof found === 'string') throw new CliError('REFUSED', messages[found]);
      const stats = 'stats' in found ? found.stats : found;
      print({ json: stats, text: csv ? csvOf(stats) : textOf(stats) });
    });
};
