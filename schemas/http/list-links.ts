import { z } from 'zod';
import { Temporal } from 'temporal-polyfill';
import { linkStatuses } from '../folds/link-status.js';
import { foldText } from '../folded-text.js';
import { parseUrl } from '../parse-url.js';
import { instantOf } from '../statistics/period.js';
import { domainName } from './link-address.js';
import { maxTags, tagOr } from './link-fields.js';
import { limitUpTo } from './paging.js';
import { readAs, readSentTime, repeatable, timeZone } from './query.js';

const searchMessage =
  'search must have at most 100 characters, in terms of at least 2 characters with white space between them, ' +
  'no control characters but tabs and line ends';

const space = String.raw`[^\S\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]`;
const term = String.raw`[^\s\u0000-\u001f\u007f-\u009f]{2,}`;
const searchPattern = new RegExp(`^${space}*${term}(?:${space}+${term})*${space}*$`, 'u');

/** The folded terms of a search, each once. */
const search = z
  .string({ error: searchMessage })
  .refine((text) => text.isWellFormed(), searchMessage)
  .transform((text) => text.normalize('NFC'))
  .refine((text) => Array.from(text).length <= 100 && searchPattern.test(text), searchMessage)
  .transform((text): readonly string[] => [...new Set(foldText(text).trim().split(/\s+/))])
  .meta({ type: 'string', minLength: 2, maxLength: 100, pattern: searchPattern.source });

const tagMessage =
  'tag must be given at most 20 times, each a text of 1 to 50 characters, without commas and control characters';

/** Folded tags, each once. */
const tags = repeatable(tagMessage)
  .pipe(z.array(tagOr(tagMessage)).max(maxTags, tagMessage))
  .transform((list): readonly string[] => [...new Set(list.map(foldText))])
  .default([]);

const createdMessage = (name: string): string =>
  `${name} must be a time in ISO 8601 with an offset, or a date, such as 2026-11-22T09:30:00+05:45 or 2026-11-22`;

/** A time with an offset, or the start of a day in `tz`. */
const creationTime = (name: string, description: string) =>
  readAs((text) => {
    const time = readSentTime(text);
    return time instanceof Temporal.PlainDateTime ? null : time;
  }, createdMessage(name))
    .optional()
    .meta({ type: 'string', description, examples: ['2026-11-22', '2026-11-22T09:30:00+05:45'] });

const destinationMessage = 'destination must be a host, such as example.com';

/** The host as the URL parser returns it: lower case, punycode. */
const destination = z
  .string({ error: destinationMessage })
  .regex(
    /^(?:[^\s/?#@:\\[\]\u0000-\u001f\u007f-\u009f]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])$/,
    destinationMessage,
  )
  .transform((text, context) => {
    const host = text.isWellFormed() ? parseUrl(`http://${text}/`)?.hostname : undefined;
    if (host !== undefined) return host;
    context.addIssue({ code: 'custom', message: destinationMessage });
    return z.NEVER;
  });

export const linkSorts = ['created', 'clicks'] as const;
export type LinkSort = (typeof linkSorts)[number];

export const afterMessage = 'after must be the next of a page of the same query';

/** The query of GET /v2/links, and most of that of GET /admin/links. */
export const listLinksQuery = z.object({
  limit: limitUpTo(100).default(20),
  after: z
    .string({ error: afterMessage })
    .regex(/^[\w-]{1,2048}$/, afterMessage)
    .optional()
    .describe('The `next` of the previous page of the same query.'),
  sort: z
    .enum(linkSorts, { error: `sort must be one of ${linkSorts.join(', ')}` })
    .default('created')
    .describe('`created`: newest first. `clicks`: most clicked first.'),
  search: search
    .optional()
    .describe(
      'Terms of at least 2 characters, separated by white space. A link matches if its short code, destination, title, ' +
        'note or tags contain each term, in any case. There are no wildcards.',
    ),
  tag: tags.meta({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 50 },
    maxItems: maxTags,
    explode: true,
    description: 'Repeat it for links with all of these tags. Case is ignored.',
  }),
  status: z
    .enum(linkStatuses, { error: `status must be one of ${linkStatuses.join(', ')}` })
    .optional()
    .describe('Default: all links except deleted ones.'),
  destination: destination.optional().meta({
    type: 'string',
    description: 'The exact host of any destination of the link.',
    examples: ['example.com'],
  }),
  domain: domainName.optional().describe('Only links on this domain.'),
  createdAfter: creationTime('createdAfter', 'Links that were created at this time or later.'),
  createdBefore: creationTime('createdBefore', 'Links that were created before this time.'),
  count: z
    .literal('1', { error: 'count must be 1' })
    .optional()
    .describe('`1`: the response has the number of matches.'),
  dailyClicks: z
    .literal('1', { error: 'dailyClicks must be 1' })
    .optional()
    .describe('`1`: the links have `dailyClicks`.'),
  tz: timeZone('The time zone of the dates in `createdAfter` and `createdBefore`.'),
});
/** The filters and the order of a list. */
export type LinkQuery = Readonly<
  Omit<z.output<typeof listLinksQuery>, 'after' | 'limit' | 'count' | 'dailyClicks'>
>;

/** Matches are counted up to this number; one more means: more. */
export const maxCountedLinks = 100_000;

/** Times in milliseconds since 1970; `null`: without a bound. */
interface CreationPeriod {
  readonly from: number | null;
  /** Not part of it. */
  readonly before: number | null;
}

export const creationPeriodOf = ({
  createdAfter,
  createdBefore,
  tz,
}: Pick<LinkQuery, 'createdAfter' | 'createdBefore' | 'tz'>): CreationPeriod => {
  // Links are created in whole milliseconds, so fractions are rounded up.
  const at = (time: typeof createdAfter): number | null =>
    time === undefined
      ? null
      : instantOf(time, tz).round({ smallestUnit: 'millisecond', roundingMode: 'ceil' })
          .epochMilliseconds;
  return { from: at(createdAfter), before: at(createdBefore) };
};
