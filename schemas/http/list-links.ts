import { z } from 'zod';
import { linkStatuses } from '../folds/link-status.js';
import { parseUrl } from '../parse-url.js';
import { maxTags, tagOr } from './link-fields.js';
import { wholeNumber } from './query.js';

const searchMessage =
  'search must have 3 to 100 characters, no control characters but tabs and line ends';

const search = z
  .string({ error: searchMessage })
  .regex(/^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$/, searchMessage)
  .refine((text) => {
    const { length } = Array.from(text);
    return length >= 3 && length <= 100 && text.isWellFormed();
  }, searchMessage)
  .meta({ minLength: 3, maxLength: 100 });

const tagMessage =
  'tag must be given at most 20 times, each a text of 1 to 50 characters, without commas and control characters';

/** One or several of a query, each once. */
const tags = z
  .union([z.string().transform((one) => [one]), z.array(z.string())])
  .pipe(z.array(tagOr(tagMessage)).max(maxTags, tagMessage))
  .transform((all): readonly string[] => [...new Set(all)])
  .default([]);

const domainMessage = 'domain must be a host, such as example.com';

/** As destinations have it once they are parsed: in lower case, as punycode. */
const domain = z
  .string({ error: domainMessage })
  .regex(
    /^(?:[^\s/?#@:\\[\]\u0000-\u001f\u007f-\u009f]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])$/,
    domainMessage,
  )
  .transform((text, context) => {
    const host = text.isWellFormed() ? parseUrl(`http://${text}/`)?.hostname : undefined;
    if (host !== undefined) return host;
    context.addIssue({ code: 'custom', message: domainMessage });
    return z.NEVER;
  });

export const linkSorts = ['created', 'clicks'] as const;
export type LinkSort = (typeof linkSorts)[number];

export const afterMessage = 'after must be the next of a page of the same query';

/** The query of GET /v2/links, and most of that of GET /admin/links. */
export const listLinksQuery = z.object({
  limit: wholeNumber(1, 100, 'limit must be between 1 and 100').default(20),
  after: z
    .string({ error: afterMessage })
    .regex(/^[\w-]{1,300}$/, afterMessage)
    .optional()
    .describe("The page before's `next`; the rest of the query stays as it was."),
  sort: z
    .enum(linkSorts, { error: `sort must be one of ${linkSorts.join(', ')}` })
    .default('created')
    .describe('`created`: the newest first. `clicks`: the most clicked first.'),
  search: search
    .optional()
    .describe(
      'A part of short code, destination, title or note, in any case. Nothing is a wildcard.',
    ),
  tag: tags.meta({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 50 },
    maxItems: maxTags,
    explode: true,
    description: 'Give it several times for links that have all of them.',
  }),
  status: z
    .enum(linkStatuses, { error: `status must be one of ${linkStatuses.join(', ')}` })
    .optional()
    .describe('Without it: all links but deleted ones.'),
  domain: domain.optional().meta({
    type: 'string',
    description: "The destination's host, exactly.",
    examples: ['example.com'],
  }),
});
/** What links a request asks for. */
export type LinkQuery = Readonly<Omit<z.output<typeof listLinksQuery>, 'after' | 'limit'>>;
