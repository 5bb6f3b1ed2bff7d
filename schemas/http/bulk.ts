import { z } from 'zod';
import { named, objectOf, request, requestParts, responseParts } from '../components.js';
import { listOf } from '../list-of.js';

import { generalError, monthlyLimitError } from './errors.js';
import { subjectIn } from './link-address.js';
import { tags, tagsIn } from './link-fields.js';
import { given } from './fields.js';
import { changedLink, disabled, linkDetails, nothingToChange } from './links.js';

const maxShortCodes = 100;
export const shortCodesMessage = `shortCodes must be 1 to ${maxShortCodes} texts, none of them twice`;

export const versionsMessage = 'versions must have a positive whole number for each short code';

const bulkChange = objectOf(nothingToChange, {
  addTags: given(tagsIn('addTags')).describe('Tags that each link gets in addition.'),
  removeTags: given(tagsIn('removeTags')).describe('Tags that each link loses.'),
  tags: tags
    .nullish()
    .describe('Replaces all tags; `null`: none. Not together with `addTags` or `removeTags`.'),
  disabled,
  delete: given(z.literal(true, { error: 'delete must be true' })).describe(
    'Not together with another change.',
  ),
  restore: given(z.literal(true, { error: 'restore must be true' })).describe(
    'Restores deleted links. Not together with another change.',
  ),
})
  .refine((change) => Object.values(change).some((value) => value !== undefined), nothingToChange)
  .refine(
    ({ delete: deletes, restore: restores, ...others }) =>
      (!deletes && !restores) ||
      (deletes !== restores && Object.values(others).every((value) => value === undefined)),
    'delete and restore cannot stand beside another change',
  )
  .refine(
    ({ tags: replaced, addTags, removeTags }) =>
      replaced === undefined || (addTags === undefined && removeTags === undefined),
    'tags cannot stand beside addTags or removeTags',
  )
  .meta({
    description: 'One change for all links. A tag in both `addTags` and `removeTags` is removed.',
    minProperties: 1,
  })
  .register(requestParts, { id: 'BulkChange' });
export type BulkChange = z.output<typeof bulkChange>;

/** The body of POST /v2/links/bulk. An invalid `code` or `domain/code` gets 404, like an unknown one. */
export const bulkRequest = request('BulkRequest', shortCodesMessage, {
  shortCodes: listOf(z.string({ error: shortCodesMessage }), {
    ...{ min: 1, max: maxShortCodes, error: shortCodesMessage },
  })
    .refine(
      (links) => new Set(links.map((link) => subjectIn(link, null) ?? link)).size === links.length,
      shortCodesMessage,
    )
    .meta({
      uniqueItems: true,
      description:
        'Short codes on the default domain, and `domain/code` for links on other domains.',
    }),
  versions: listOf(z.int({ error: versionsMessage }).min(1, versionsMessage), {
    ...{ min: 1, max: maxShortCodes, error: versionsMessage },
  })
    .optional()
    .describe('The version of each link, in the same order: links with another one fail with 412.'),
  change: bulkChange.describe('What to do with each link.'),
});

const item = z.object({
  index: z
    .int()
    .min(0)
    .max(maxShortCodes - 1)
    .describe('The position in `shortCodes`, from 0.'),
});
const success = 'Whether the link has the change.';
const failed = item.extend({
  success: z.literal(false).describe(success),
  shortCode: z.string().describe('As sent.'),
});

const changed = item.extend({ success: z.literal(true).describe(success) });

const bulkResult = z
  .union([
    changed.extend(linkDetails.shape),
    changed.extend(changedLink.shape),
    failed.extend(generalError.pick({ statusCode: true, message: true }).shape),
    failed.extend(monthlyLimitError.shape),
  ])
  .register(responseParts, { id: 'BulkResult' });
export type BulkResult = z.infer<typeof bulkResult>;

export const bulkResponse = named('BulkResponse', {
  results: z.array(bulkResult).describe('One for each short code, in the same order.'),
});
export type BulkResponse = z.infer<typeof bulkResponse>;
