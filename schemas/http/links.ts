import { z } from 'zod';
import { timestamp } from '../events/envelope.js';
import { linkStatuses } from '../folds/link-status.js';
import { expiresIn } from './fields.js';
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
export const changeLinkRequest = (isOwnHost: (destination: URL) => boolean) =>
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
        maxClicks: given(maxClicks).meta({
          description:
            'Only of a link that was made with a limit, and no less than the clicks taken. At as ' +
            'many, the link has expired.',
        }),
        title: title.nullish(),
        note: note.nullish(),
        tags: tags.nullish().meta({ description: 'All of them; `null`: none.' }),
        disabled: given(z.boolean({ error: 'disabled must be true or false' })),
      },
      { error: nothingToChange },
    )
    .refine((change) => Object.values(change).some((value) => value !== undefined), nothingToChange)
    .meta({
      description:
        'Properties that are not listed are stripped. What is absent stays as it is; `null` takes ' +
        'away, and means absent in `url`, `maxClicks` and `disabled`.',
      minProperties: 1,
    });
export type ChangeLinkRequest = z.output<ReturnType<typeof changeLinkRequest>>;

/** A link, for its owner. */
export const linkDetails = z.object({
  shortUrl: z.url(),
  shortCode,
  url: z.string(),
  alias: shortCode.nullable(),
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
