import { unnest, valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import { foldText } from '../../schemas/folded-text.js';
import type { RedirectRow } from '../../schemas/read-models/redirects.js';
import type { ProjectionSchema } from '../runtime/projection.js';

type TaggedLink = Pick<RedirectRow, 'account' | 'created_at' | 'subject' | 'tags'>;

const types = { account: 'text', tag: 'text', created_at: 'timestamptz', subject: 'text' } as const;
type TagRow = Pick<TaggedLink, 'account' | 'created_at' | 'subject'> & { readonly tag: string };

const columns = Object.keys(types) as readonly (keyof TagRow)[];
const input = `SELECT * FROM ${unnest(Object.values(types))} AS i (${columns.join()})`;

const foldedTags = (link: TaggedLink | undefined): ReadonlySet<string> =>
  new Set(link?.tags?.map(foldText));

const tagsMissingIn = (link: TaggedLink, other: TaggedLink | undefined): readonly TagRow[] => {
  const { account, created_at, subject } = link;
  const otherTags = foldedTags(other);
  return [...foldedTags(link)]
    .filter((tag) => !otherTags.has(tag))
    .map((tag) => ({ account, created_at, subject, tag }));
};

export const writeTags = async (
  tx: Client,
  schema: ProjectionSchema,
  changes: readonly { readonly before: TaggedLink | undefined; readonly after: TaggedLink }[],
): Promise<void> => {
  const removed = changes.flatMap(({ before, after }) =>
    before ? tagsMissingIn(before, after) : [],
  );
  const added = changes.flatMap(({ before, after }) => tagsMissingIn(after, before));
  if (removed.length > 0) {
    await tx.query({
      name: `redirects-tags-removed-${schema}`,
      text: `DELETE FROM ${schema}.link_tags USING (${input}) AS removed
             WHERE ${columns.map((column) => `link_tags.${column} = removed.${column}`).join(' AND ')}`,
      values: valuesByField(removed, ...columns),
    });
  }
  if (added.length > 0) {
    await tx.query({
      name: `redirects-tags-added-${schema}`,
      text: `INSERT INTO ${schema}.link_tags (${columns.join()}) ${input} ON CONFLICT DO NOTHING`,
      values: valuesByField(added, ...columns),
    });
  }
};
