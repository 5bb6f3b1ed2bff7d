import { z } from 'zod';
import { timestamp } from '../events/envelope.js';
import { linkStatuses } from '../folds/link-status.js';
import { expiresAt, expiresIn, expiresTwice, startsAt } from './fields.js';
import { destination, maxClicks, note, password, tags, title } from './link-fields.js';
import { shortCode } from './shorten.js';

export const nothingToChange = 'Nothing to change';

/** `null` means absent. */
export const given = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

/**
 * The body of PATCH /v2/links/:shortCode. What is absent stays; `null` takes away, where there may be
 * none.
 */
export const changeLinkRequest = (
  isOwnHost: (destination: URL) => boolean,
  now: () => number = Date.now,
) =>
  z
    .object(
      {
        url: given(destination(isOwnHost)),
        password: password
          .nullish()
          .meta({ description: '`null`: everybody may follow the link.' }),
        expiresIn: expiresIn
          .nullish()
          .meta({ description: 'Seconds from now; `null`: the link has no end.' }),
        expiresAt: expiresAt(now)
          .nullish()
          .meta({ description: 'In place of `expiresIn`; `null`: the link has no end.' }),
        startsAt: startsAt
          .nullish()
          .meta({ description: '`null`: the link redirects from now on.' }),
        maxClicks: maxClicks.nullish().meta({
          description:
            'No less than the clicks taken: on a link without a limit, the clicks counted so far. At as ' +
            'many, the link has expired. `null`: no limit.',
        }),
        title: title.nullish(),
        note: note.nullish(),
        tags: tags.nullish().meta({ description: 'All of them; `null`: none.' }),
        disabled: given(z.boolean({ error: 'disabled must be true or false' })),
      },
      { error: nothingToChange },
    )
    .refine((change) => Object.values(change).some((value) => value !== undefined), nothingToChange)
    .refine(
      (change) => change.expiresIn === undefined || change.expiresAt === undefined,
      expiresTwice,
    )
    .meta({
      description:
        'Properties that are not listed are stripped. What is absent stays as it is; `null` takes ' +
        'away, and means absent in `url` and `disabled`.',
      minProperties: 1,
    });
export type ChangeLinkRequest = z.output<ReturnType<typeof changeLinkRequest>>;

/** A link, for its owner. */
export const linkDetails = z.object({
  shortUrl: z.url(),
  shortCode,
  url: z.string(),
  alias: shortCode.nullable(),
  startsAt: timestamp.nullable(),
  expiresAt: timestamp.nullable(),
  maxClicks: z.int().min(1).nullable(),
  createdAt: timestamp,
  status: z
    .enum(linkStatuses)
    .describe('The first that holds: what is blocked may be disabled and expired, too.'),
  title: z.string().nullable(),
  note: z.string().nullable(),
  tags: z.array(z.string()).readonly(),
  hasPassword: z.boolean(),
  clickCount: z.int().min(0),
  clicksLeft: z.int().min(0).nullable().describe('Redirects left; `null` without a limit.'),
  lastAccessed: timestamp.nullable(),
  updatedAt: timestamp.describe('Clicks do not change it.'),
  version: z.int().min(1).describe('Rises with each change; clicks are none.'),
});
export type LinkDetails = z.infer<typeof linkDetails>;

/** A link after a change, for a key without the scope links:read: neither texts nor clicks. */
export const changedLink = linkDetails.pick({ shortCode: true, version: true, status: true });
export type ChangedLink = z.infer<typeof changedLink>;

/** GET /v2/links: a page. */
export const linkPage = z.object({
  links: z.array(linkDetails).max(100),
  next: z
    .string()
    .nullable()
    .describe(
      '`after` of the next page; `null` on the last one. A page before the last may have fewer links ' +
        'than `limit`, even none.',
    ),
});
export type LinkPage = z.infer<typeof linkPage>;
