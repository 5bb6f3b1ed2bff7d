import { z } from 'zod';
import { timestamp } from '../events/envelope.js';
import { dimensionNames, type Dimension } from '../statistics/document.js';
import { intervals, periodOf, type Period } from '../statistics/period.js';
import { messages } from './errors.js';
import { readAs, readSentTime, repeatable, timeZone, wholeNumber } from './query.js';
import { shortCode } from './shorten.js';

/** What statistics of a period may have besides the period itself. */
const breakdowns = ['timeseries', ...dimensionNames, 'bots', 'uniques'] as const;
export type Breakdown = (typeof breakdowns)[number];

const includeOf = (names: readonly (Breakdown | 'links')[]) => {
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
    include: includeOf(names).describe('What the answer shall have besides; without it nothing.'),
    from: time('from', 'The first moment; by default 30 days before the end.'),
    to: time('to', 'The end, which is not part of the period; by default now.'),
    interval: z
      .enum(intervals, { error: `interval must be one of ${intervals.join(', ')}` })
      .default('day')
      .describe('Of `timeseries`; weeks begin on Monday.'),
    tz: timeZone('Whose days and hours the intervals are; also of times without an offset.'),
    limit: wholeNumber(1, 200, 'limit must be between 1 and 200')
      .default(20)
      .describe('Values of each list; the others are one, `(other)`.'),
  });

/** The query of GET /v2/stats/:shortCode. `all` stands for all names. */
export const statsQuery = queryOf(breakdowns);

/** The query of GET /v2/stats. `all` does not stand for `links`, which not every period has. */
export const accountStatsQuery = queryOf([...breakdowns, 'links']);

/** What a request wants to know. */
export interface AskedStatistics {
  readonly period: Period;
  readonly include: ReadonlySet<Breakdown | 'links'>;
  /** Values of each list. */
  readonly limit: number;
}

/** Reads a query; otherwise what is wrong with it. */
export const readStatsQuery = (
  schema: typeof statsQuery,
  query: unknown,
  now: Date,
): AskedStatistics | { readonly refused: string } => {
  const read = schema.safeParse(query);
  if (!read.success) return { refused: read.error.issues[0]?.message ?? messages.badRequest };
  const { include = [], limit, ...asked } = read.data;
  const period = periodOf(asked, now);
  if ('refused' in period) return period;
  const names = include.flatMap((name) => (name === 'all' ? breakdowns : [name]));
  return { period, include: new Set(names), limit };
};

const clicks = z.int().min(0);
const zonedTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
  .describe('In `tz`, with its offset at that time.');

const valueList = z
  .array(
    z.object({
      value: z.string().nullable().describe('`null`: not recorded.'),
      clicks: clicks.min(1),
    }),
  )
  .max(201)
  .optional();

const ofPeriod = {
  timeseries: z
    .array(
      z.object({
        start: zonedTime,
        clicks,
        bots: clicks.optional(),
        uniques: clicks
          .describe('Where the interval is a day or longer, and `tz` is `UTC`.')
          .optional(),
      }),
    )
    .max(400)
    .optional(),
  ...(Object.fromEntries(dimensionNames.map((name) => [name, valueList])) as Record<
    Dimension,
    typeof valueList
  >),
  bots: clicks.describe('Visits of bots, which are no clicks.').optional(),
  uniques: clicks
    .describe('The sum of the different visitors of each UTC day that the period touches.')
    .optional(),
};

const period = z.object({
  from: zonedTime,
  to: zonedTime,
  interval: z.enum(intervals),
  tz: z.string(),
  clickCount: clicks.describe('The clicks of the period: the sum of each list.'),
});

/** What a query asks for of a period, as answers have it. */
export const periodStats = z.object({ period, ...ofPeriod });
export type PeriodStats = z.infer<typeof periodStats>;

/** GET /v2/stats/:shortCode; `period` and what follows where `include` asks for something. */
export const statsResponse = z.object({
  shortCode,
  url: z.string(),
  clickCount: clicks.describe('Visits that were redirected; bots and HEAD are none.'),
  createdAt: timestamp,
  lastAccessed: timestamp.nullable(),
  expiresAt: timestamp.nullable(),
  maxClicks: z.int().min(1).nullable(),
  period: period.optional(),
  ...ofPeriod,
});
export type StatsResponse = z.infer<typeof statsResponse>;

/** GET /v2/stats */
export const accountStatsResponse = z.object({
  linkCount: z.int().min(0).describe('Links that the account has made, gone ones too.'),
  clickCount: clicks.describe('Of all links, of all time.'),
  period,
  ...ofPeriod,
  links: z
    .array(z.object({ shortCode, url: z.string(), clicks: clicks.min(1) }))
    .max(200)
    .describe('The most clicked; days that the period touches count whole.')
    .optional(),
});
export type AccountStatsResponse = z.infer<typeof accountStatsResponse>;
