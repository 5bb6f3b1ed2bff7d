import { unnest, valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import { foldText } from '../../schemas/folded-text.js';
import type { RedirectRow } from '../../schemas/read-models/redirects.js';
import type { ProjectionSchema } from '../runtime/projection.js';

type TaggedLink = Pick<RedirectRow, 'account' | 'created_at' | 'code' | 'tags'>;

const types = { account: 'text', tag: 'text', created_at: 'timestamptz', code: 'text' } as const;
type TagRow = Pick<TaggedLink, 'account' | 'created_at' | 'code'> & { readonly tag: string };

const columns = Object.keys(types) as readonly (keyof TagRow)[];
const input = `SELECT * FROM ${unnest(Object.values(types))} AS i (${columns.join()})`;

const foldedTags = (link: TaggedLink | undefined): ReadonlySet<string> =>
  new Set(link?.tags?.map(foldText));

/** The folded tags of `link` that `other` does not have. */
const tagsBeside = (link: TaggedLink, other: TaggedLink | undefined): readonly TagRow[] => {
  const { account, created_at, code } = link;
  const otherTags = foldedTags(other);
  return [...foldedTags(link)]
    .filter((tag) => !otherTags.has(tag))
    .map((tag) => ({ account, created_at, code, tag }));
};

/** Writes which tags links have got and lost. */
export const writeTags = async (
  tx: Client,
  schema: ProjectionSchema,
  changes: readonly { readonly before: TaggedLink | undefined; readonly after: TaggedLink }[],
): Promise<void> => {
  const lost = changes.flatMap(({ before, after }) => (before ? tagsBeside(before, after) : []));
  const got = changes.flatMap(({ before, after }) => tagsBeside(after, before));
  if (lost.length > 0) {
    await tx.query({
      name: `redirects-tags-lost-${schema}`,
      text: `DELETE FROM ${schema}.link_tags USING (${input}) AS lost
             WHERE ${columns.map((column) => `link_tags.${column} = lost.${column}`).join(' AND ')}`,
      values: valuesByField(lost, ...columns),
    });
  }
  if (got.length > 0) {
    await tx.query({
      name: `redirects-tags-got-${schema}`,
      text: `INSERT INTO ${schema}.link_tags (${columns.join()}) ${input} ON CONFLICT DO NOTHING`,
      values: valuesByField(got, ...columns),
    });
  }
};
