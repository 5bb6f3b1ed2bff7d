import { z } from 'zod';
import { named } from '../components.js';
import { foldText } from '../folded-text.js';
import { tagOr } from './link-fields.js';
import { limitUpTo, nextPage } from './paging.js';

const searchMessage = 'search must have 1 to 50 characters, without commas and control characters';
const afterMessage = 'after must be the next of a page';

export const listTagsQuery = z.object({
  limit: limitUpTo(100).default(20),
  after: tagOr(afterMessage).optional().describe('The `next` of the previous page.'),
  search: tagOr(searchMessage)
    .transform(foldText)
    .optional()
    .meta({
      ...{ type: 'string', minLength: 1, maxLength: 50 },
      description: 'The beginning of the tags, in any case.',
    }),
});

/** The clicks of a tag are summed for at most this number of links. */
export const maxTagLinks = 1_000;

/** GET /v2/tags: a page of the tags of an account's links. */
export const tagPage = named('TagPage', {
  tags: z
    .array(
      named('TagCount', {
        tag: z.string().describe('In the spelling of the newest link that has it.'),
        links: z.int().min(1).describe('Links that are not deleted.'),
        clicks: z
          .int()
          .min(0)
          .nullable()
          .describe(
            'All clicks of these links; `null` if more than 1,000 links have the tag, deleted ones included.',
          ),
      }),
    )
    .max(100)
    .describe('The tags of the page, in the order of their lower-case text.'),
  next: nextPage,
});
export type TagPage = z.infer<typeof tagPage>;
