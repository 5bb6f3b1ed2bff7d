import { z } from 'zod';
import { named, objectOf, requestParts, responseParts } from '../components.js';
import { timestamp } from '../events/envelope.js';
import { maxCodes } from '../folds/link.js';
import { linkStatuses } from '../folds/link-status.js';
import { maxCountedLinks } from './list-links.js';
import { createdAt, expiresAt, expiresIn, expiresTwice, given, startsAt } from './fields.js';
import {
  destination,
  maxClicks,
  note,
  password,
  storedUrl,
  tags,
  title,
  type Destinations,
} from './link-fields.js';
import { optionChanges, shownOptions, warning } from './link-options.js';
import { shortCode, shortUrl } from './link-address.js';

export const nothingToChange = 'Nothing to change';

const ownersOnly = 'For the owner; `null`: none.';

export const disabled = given(z.boolean({ error: 'disabled must be true or false' })).describe(
  '`true`: visitors get 410 until it is `false` again.',
);

/** The body of PATCH /v2/links/:shortCode. Absent fields stay; `null` removes optional values. */
export const changeLinkRequest = (accepted: Destinations, now: () => number = Date.now) =>
  objectOf(nothingToChange, {
    url: given(destination(accepted)),
    password: password.nullish().describe('`null`: no password.'),
    expiresIn: expiresIn.nullish().describe('Seconds from now; `null`: the link has no end.'),
    expiresAt: expiresAt(now)
      .nullish()
      .describe('Instead of `expiresIn`; `null`: the link has no end.'),
    startsAt: startsAt.nullish().describe('`null`: the link redirects from now on.'),
    maxClicks: maxClicks
      .nullish()
      .describe(
        'At least the clicks taken (without a limit: the clicks counted so far). If they are equal, ' +
          'the link expires. `null`: no limit.',
      ),
    title: title.nullish().describe(ownersOnly),
    note: note.nullish().describe(ownersOnly),
    tags: tags.nullish().describe('Replaces all tags; `null`: none.'),
    ...optionChanges(accepted),
    disabled,
  })
    .refine((change) => Object.values(change).some((value) => value !== undefined), nothingToChange)
    .refine(
      (change) => change.expiresIn === undefined || change.expiresAt === undefined,
      expiresTwice,
    )
    .meta({
      description:
        'Unknown properties are stripped. Absent fields stay; `null` removes the value, and means ' +
        'absent in `url`, `forwardQuery` and `disabled`.',
      minProperties: 1,
    })
    .register(requestParts, { id: 'ChangeLinkRequest' });
export type ChangeLinkRequest = z.output<ReturnType<typeof changeLinkRequest>>;

/** The days of `dailyClicks`, including today. */
export const dailyClicksDays = 30;

/** A key without the scope links:read gets only these fields of a link that it changes: neither texts nor clicks. */
const changedFields = { shortCode: true, domain: true, version: true, status: true } as const;

const codes = z
  .array(
    named('LinkCode', {
      code: shortCode,
      domain: z.string().exactOptional().describe('Absent: the default domain.'),
      shortUrl,
    }),
  )
  .max(maxCodes)
  .readonly()
  .exactOptional()
  .describe('Further codes, which redirect as the first one does. Absent: none.');

export const linkDetails = z
  .object({
    shortUrl,
    shortCode,
    domain: z.string().nullable().describe('`null`: the default domain.'),
    url: storedUrl,
    alias: shortCode.nullable().describe('The code, if the client chose it; otherwise `null`.'),
    startsAt: timestamp.nullable().describe('Visitors get 404 before it; `null`: no start.'),
    expiresAt: timestamp.nullable().describe('Visitors get 410 from then on; `null`: no end.'),
    maxClicks: z.int().min(1).nullable().describe('Redirects until it expires; `null`: no limit.'),
    createdAt,
    status: z
      .enum(linkStatuses)
      .describe('The first status that applies: a blocked link may also be disabled and expired.'),
    title: z.string().nullable().describe(ownersOnly),
    note: z.string().nullable().describe(ownersOnly),
    tags: z.array(z.string()).readonly().describe('For the owner; empty: none.'),
    hasPassword: z.boolean().describe('Whether visitors must enter a password.'),
    clickCount: z.int().min(0).describe('Clicks of all time, without bots and HEAD requests.'),
    clicksLeft: z.int().min(0).nullable().describe('Redirects left; `null` without a limit.'),
    dailyClicks: z
      .array(z.int().min(0))
      .length(dailyClicksDays)
      .readonly()
      .exactOptional()
      .describe(
        'In lists with `dailyClicks=1`: the clicks of the last 30 days in UTC, today last. Absent without the scope ' +
          '`stats:read`, and while the statistics are built.',
      ),
    lastAccessed: timestamp.nullable().describe('The last click, not of a bot; `null`: none yet.'),
    updatedAt: timestamp.describe('Clicks do not change it.'),
    ...shownOptions,
    codes,
    warning,
    version: z.int().min(1).describe('Increases with each change. Clicks do not change it.'),
  })
  .meta({
    description:
      'Every property is present, except options that the link lacks, `warning`, `dailyClicks`, and in responses to changes by a key ' +
      'without the scope `links:read`: they have only the required ones and `warning`.',
    required: Object.keys(changedFields),
  })
  .register(responseParts, { id: 'LinkDetails' });
export type LinkDetails = z.infer<typeof linkDetails>;

export const changedLink = linkDetails.pick({ ...changedFields, warning: true });
export type ChangedLink = z.infer<typeof changedLink>;

/** GET /v2/links: a page. */
export const linkPage = named('LinkPage', {
  links: z.array(linkDetails).max(100).describe('The links of the page, in the order of `sort`.'),
  next: z
    .string()
    .nullable()
    .describe(
      'The `after` of the next page; `null` on the last page. A page before the last one may have ' +
        'fewer links than `limit`, even none.',
    ),
  count: z
    .int()
    .min(0)
    .max(maxCountedLinks + 1)
    .nullable()
    .exactOptional()
    .describe(
      'With `count=1`: the number of links on all pages; 100,001: more than 100,000; `null`: unknown, because ' +
        'more than 100,000 links would be examined.',
    ),
});
export type LinkPage = z.infer<typeof linkPage>;
