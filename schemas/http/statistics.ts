import { z } from 'zod';
import { named } from '../components.js';
import { dimensionNames, dimensions, type Dimension, type Value } from '../statistics/document.js';
import { intervals, periodOf, type Period } from '../statistics/period.js';
import { messages } from './errors.js';
import { domainName, shortCode } from './link-address.js';
import { linkDetails } from './links.js';
import { listLinksQuery, type LinkQuery } from './list-links.js';
import { readAs, readSentTime, repeatable, timeZone, wholeNumber } from './query.js';
import { call, json, routeGroup } from './route.js';

const breakdowns = ['timeseries', ...dimensionNames, 'bots', 'uniques'] as const;
export type Breakdown = (typeof breakdowns)[number];

const breakdownsOfAccount = breakdowns.filter((name) => name !== 'codes');

/** Lists of an account that not every period has, so `all` does not include them. */
const bounded = ['tags', 'links'] as const;

export type IncludeName = Breakdown | (typeof bounded)[number];

/** What a response can be as CSV. */
export const tables = ['timeseries', ...dimensionNames, ...bounded] as const;
export type StatisticsTable = (typeof tables)[number];

export const isTable = (name: IncludeName): name is StatisticsTable =>
  tables.some((table) => table === name);

const includeOf = (names: readonly IncludeName[]) => {
  const error = `include must be all, or some of ${names.join(', ')}, with commas between them`;
  return repeatable(error)
    .pipe(z.array(z.enum(['all', ...names], { error })).min(1))
    .optional();
};

const time = (name: string, description: string) =>
  readAs(
    readSentTime,
    `${name} must be a time in ISO 8601, such as 2026-11-22 or 2026-11-22T09:30:00+05:45`,
  )
    .optional()
    .meta({ type: 'string', description, examples: ['2026-11-22', '2026-11-22T09:30:00+05:45'] });

const queryOf = (names: Parameters<typeof includeOf>[0]) =>
  z.object({
    include: includeOf(names).describe('Additional statistics in the response. Default: none.'),
    from: time('from', 'The start. Default: 30 days before the end.'),
    to: time('to', 'The end, exclusive. Default: now.'),
    interval: z
      .enum(intervals, { error: `interval must be one of ${intervals.join(', ')}` })
      .default('day')
      .describe('The interval of `timeseries`. Weeks start on Monday.'),
    tz: timeZone('The time zone of the intervals, and of times without an offset.'),
    limit: wholeNumber(1, 200, 'limit must be between 1 and 200')
      .default(20)
      .describe('The maximum of values per list. The other values are summed up as `(other)`.'),
  });

export type ValueDimension = Exclude<Dimension, 'campaigns'>;

const valueTexts: Readonly<Record<ValueDimension, string>> = {
  referrers: 'Hosts of the pages with the link, without `www.`.',
  countries: 'ISO 3166-1 alpha-2.',
  browsers: 'Families, such as `Firefox`.',
  os: 'Families, such as `Android`.',
  devices: 'Kinds, such as `mobile`.',
  languages: 'Primary subtags of BCP 47, such as `de`.',
  triggers: '`link`, or `qr` for a marked QR code.',
  targets: 'Redirect rules: `rule` or `rule/entry`.',
  codes: 'The codes of the link: `code`, or `domain/code` on an own domain.',
};

type VisitField = (typeof dimensions)[ValueDimension];

/** The filters of a link's visits: the fields of all breakdowns except campaigns, which have three values. */
const visitFilters = Object.fromEntries(
  Object.entries(valueTexts).map(([name, text]) => {
    const field = dimensions[name as ValueDimension];
    const value = z.string({ error: `${field} must have one value` }).optional();
    return [field, value.describe(`Only visits with this value; empty: not recorded. ${text}`)];
  }),
) as Record<VisitField, z.ZodOptional<z.ZodString>>;

/** The query of GET /v2/stats/:shortCode. `all` stands for all names. */
export const statsQuery = queryOf(breakdowns).extend(visitFilters);

/** The query of GET /v2/stats. `all` stands for the breakdowns. */
export const accountStatsQuery = queryOf([...breakdownsOfAccount, ...bounded]).extend({
  domain: domainName
    .optional()
    .describe(
      'Only links on this domain. The default domain without a filter: only if the account has no other.',
    ),
  tag: listLinksQuery.shape.tag,
  destination: listLinksQuery.shape.destination,
  search: listLinksQuery.shape.search,
});

type LinkStatsQuery = z.output<typeof statsQuery>;
type AccountQuery = z.output<typeof accountStatsQuery>;

export interface StatisticsRequest {
  readonly period: Period;
  readonly include: ReadonlySet<IncludeName>;
  /** Values of each list. */
  readonly limit: number;
  /** Only links on this domain, `''` for the default domain; `null`: all. */
  readonly domain: string | null;
  /** Only links that match now and are not deleted; `null`: all. */
  readonly filter: Pick<LinkQuery, 'tag' | 'destination' | 'search'> | null;
  /** Only visits of the link with all these values. */
  readonly visits: readonly (readonly [field: VisitField, value: Value])[];
}

/** Parses a query. Returns the message for the first invalid parameter. */
export const readStatsQuery = (
  schema: typeof statsQuery | typeof accountStatsQuery,
  query: unknown,
  now: Date,
): StatisticsRequest | { readonly refused: string } => {
  const read = schema.safeParse(query);
  if (!read.success) return { refused: read.error.issues[0]?.message ?? messages.badRequest };
  // Only the query of an account has a domain and a filter.
  const {
    include = [],
    limit,
    domain = null,
    tag,
    destination,
    search,
    ...requested
  } = read.data as Partial<Omit<AccountQuery, keyof LinkStatsQuery>> & LinkStatsQuery;
  const period = periodOf(requested, now);
  if ('refused' in period) return period;
  const known = schema === statsQuery ? breakdowns : breakdownsOfAccount;
  const names = include.flatMap((name) => (name === 'all' ? known : [name]));
  const filters = { tag: tag ?? [], destination, search };
  const isFiltered = filters.tag.length > 0 || destination !== undefined || search !== undefined;
  const filter = isFiltered ? filters : null;
  const visits = (Object.keys(visitFilters) as VisitField[]).flatMap((field) => {
    const value = requested[field];
    return value === undefined ? [] : [[field, value === '' ? null : value] as const];
  });
  return { period, include: new Set(names), limit, domain, filter, visits };
};

const clicks = z.int().min(0);
const zonedTime = z
  .string()
  .meta({ format: 'date-time', description: 'In `tz`, with its offset at that time.' });

const valueList = z
  .array(
    named('ValueClicks', {
      value: z.string().nullable().describe('`null`: not recorded; `(other)`: all other values.'),
      clicks: clicks.min(1).describe('Clicks of the period with this value.'),
    }),
  )
  .max(201)
  .optional();

const utm = (name: string) =>
  z.string().nullable().describe(`\`${name}\`, decoded, at most 100 characters; \`null\`: absent.`);

/** Campaigns have three values; `(other)` in the first one stands for all other campaigns. */
const campaignList = z
  .array(
    named('CampaignClicks', {
      campaign: utm('utm_campaign').meta({ examples: ['spring', '(other)'] }),
      source: utm('utm_source'),
      medium: utm('utm_medium'),
      clicks: clicks.min(1).describe('Clicks of the period with this campaign.'),
    }),
  )
  .max(201)
  .describe(
    'UTM parameters of the destination at the time of each visit. `(other)` as `campaign`: all other campaigns.',
  )
  .optional();

const ofPeriod = {
  timeseries: z
    .array(
      named('IntervalClicks', {
        start: zonedTime,
        clicks: clicks.describe('Clicks in the interval, without bots.'),
        bots: clicks.describe('Visits of bots, with `include=bots`.').optional(),
        uniques: clicks
          .describe('Only if the interval is a day or longer, and `tz` is `UTC`.')
          .optional(),
      }),
    )
    .max(400)
    .describe('Every interval of the period, in order, including those without clicks.')
    .optional(),
  ...(Object.fromEntries(
    Object.entries(valueTexts).map(([name, text]) => [name, valueList.describe(text)]),
  ) as Record<ValueDimension, typeof valueList>),
  campaigns: campaignList,
  importedClicks: clicks
    .min(1)
    .describe(
      'The part of the total clicks that imported links brought along. It belongs to no period.',
    )
    .optional(),
  bots: clicks.describe('Visits of bots, which do not count as clicks.').optional(),
  uniques: clicks
    .describe('The unique visitors of each UTC day that the period overlaps, summed up.')
    .optional(),
};

const period = named('Period', {
  from: zonedTime,
  to: zonedTime,
  interval: z.enum(intervals).describe('The interval of `timeseries`.'),
  tz: z.string().describe('The time zone of the intervals: an IANA name.'),
  clickCount: clicks.describe('The clicks of the period: the sum of each list.'),
});

const inPeriod = period.describe('What the following properties are about.');

const { shape } = linkDetails;

const periodStats = z.object({ period, ...ofPeriod });
export type PeriodStats = z.infer<typeof periodStats>;

/** GET /v2/stats/:shortCode. `period` and the following fields only with `include`. */
export const statsResponse = named('Stats', {
  shortCode,
  url: shape.url,
  clickCount: clicks.describe(
    'Redirected visits, without bots and HEAD requests, and the clicks that an imported link brought along.',
  ),
  createdAt: shape.createdAt,
  lastAccessed: shape.lastAccessed,
  expiresAt: shape.expiresAt,
  maxClicks: shape.maxClicks,
  period: inPeriod.optional(),
  ...ofPeriod,
});
export type StatsResponse = z.infer<typeof statsResponse>;

const accountStatsResponse = named('AccountStats', {
  linkCount: z
    .int()
    .min(0)
    .describe(
      'All links of the account, including deleted and expired ones; with a filter, those that match.',
    ),
  clickCount: clicks.describe('The total clicks of all links.'),
  period: inPeriod,
  ...z.object(ofPeriod).omit({ codes: true }).shape,
  links: z
    .array(
      named('LinkClicks', {
        shortCode,
        domain: z.string().describe('Only for a link on an own domain.').optional(),
        url: shape.url,
        clicks: clicks.min(1).describe('Clicks of the period, without bots.'),
      }),
    )
    .max(200)
    .describe('The most clicked links. Without a filter, partly covered days count in full.')
    .optional(),
  tags: named('TagsClicks', {
    overlapping: z.literal(true).describe('The clicks of a link count for each of its tags.'),
    values: z
      .array(
        named('TagClicks', {
          value: z.string().describe('As the newest of the links spells it.'),
          clicks: clicks.min(1).describe('Clicks of the period.'),
        }),
      )
      .max(200)
      .describe('The most clicked tags of links that are not deleted.'),
  }).optional(),
});
export type AccountStatsResponse = z.infer<typeof accountStatsResponse>;

/** A week in Kathmandu that starts on a Friday: 12 clicks, and 3 visits of bots. */
const statsOfPeriod = {
  period: {
    from: '2026-05-01T00:00:00+05:45',
    to: '2026-05-08T00:00:00+05:45',
    interval: 'week',
    tz: 'Asia/Kathmandu',
    clickCount: 12,
  },
  timeseries: [
    { start: '2026-05-01T00:00:00+05:45', clicks: 5, bots: 1 },
    { start: '2026-05-04T00:00:00+05:45', clicks: 7, bots: 2 },
  ],
  countries: [
    { value: 'NP', clicks: 6 },
    { value: null, clicks: 4 },
    { value: '(other)', clicks: 2 },
  ],
  bots: 3,
};

const exampleStats = {
  shortCode: 'spring-sale',
  url: 'https://example.com/a?b=c',
  clickCount: 12,
  createdAt: '2026-05-01T12:00:00.000Z',
  lastAccessed: '2026-05-01T13:30:00.000Z',
  expiresAt: null,
  maxClicks: null,
};

/** Its content has no schema in the document: generated clients would return a union. */
export const asCsv =
  '`Accept: text/csv` returns one list as CSV with the columns `value` and `clicks`, `campaigns` with `campaign`, ' +
  '`source`, `medium` and `clicks`, or the series with `start` and `clicks`; `include` then names exactly one.';

export const statisticsRoutes = routeGroup(
  { tag: 'Reports', scope: 'stats:read' },
  {
    getAccountStats: call('GET /stats', 'Get the clicks of the account', {
      description:
        'Of all time, and of a period: by default the last 30 days. `uniques` is the sum over the ' +
        'links. A period in which more than 200,000 links had a click on a day, summed over its ' +
        'days, has no `links`: 400. `tag`, `destination`, `search` and `include=tags` sum up links one by one: ' +
        '400 for more than 10,000 links with a click in the period. ' +
        asCsv,
      query: accountStatsQuery,
      returns: {
        200: json(
          'The statistics, from one snapshot.',
          accountStatsResponse,
          {
            account: {
              linkCount: 40,
              clickCount: 1_200,
              ...statsOfPeriod,
              links: [{ shortCode: exampleStats.shortCode, url: exampleStats.url, clicks: 12 }],
            },
          },
          { headers: ['Vary'] },
        ),
      },
    }),
    getStats: call('GET /stats/:shortCode', 'Get the clicks of a short link', {
      description:
        "Of the account's links, including expired ones. `include` adds the statistics of a period. " +
        'The sum of each list is `period.clickCount`. The parameters of breakdowns, such as `country`, restrict all ' +
        'statistics of the period to visits with these values: 400 for more than 200,000 visits in the period. ' +
        asCsv,
      query: statsQuery,
      returns: {
        200: json(
          'The statistics.',
          statsResponse,
          {
            stats: exampleStats,
            included: {
              ...exampleStats,
              ...{ clickCount: 200, lastAccessed: '2026-05-20T13:30:00.000Z' },
              ...statsOfPeriod,
            },
          },
          { headers: ['Vary'] },
        ),
      },
    }),
  },
);
