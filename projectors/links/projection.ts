import { unnest, valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import { isLinkEvent, type LinkEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { foldedTextOf, foldText } from '../../schemas/folded-text.js';
import { evolveLink, initialState, type LinkState } from '../../schemas/folds/link.js';
import {
  commonTypes,
  linkOfRow,
  redirectColumns,
  redirectTypes,
  rowOfState,
  type RedirectRow,
} from '../../schemas/read-models/redirects.js';
import type { Projection, ProjectionSchema, ReadSequences } from '../runtime/projection.js';

interface Row extends RedirectRow {
  /** `foldedTextOf` the link. */
  readonly folded: string;
}

const types = { ...redirectTypes, folded: 'text' } as const satisfies Record<keyof Row, string>;

type Types = Readonly<Partial<Record<keyof Row, string>>>;

/** Whether the other columns are null and have always been. */
const isCommon = (row: RedirectRow): boolean =>
  row.sequence === 1 &&
  redirectColumns.every((column) => column in commonTypes || row[column] === null);

const readRows = async (
  tx: Client,
  schema: ProjectionSchema,
  subjects: Iterable<string>,
): Promise<ReadonlyMap<string, RedirectRow>> => {
  const { rows } = await tx.query<RedirectRow>({
    name: `redirects-read-${schema}`,
    text: `SELECT ${redirectColumns.join()} FROM ${schema}.links WHERE subject = ANY ($1::text[])`,
    values: [[...subjects]],
  });
  return new Map(rows.map((row) => [row.subject, row]));
};

const writeRows = async (
  tx: Client,
  schema: ProjectionSchema,
  columnTypes: Types,
  rows: readonly Row[],
): Promise<void> => {
  if (rows.length === 0) return;
  const columns = Object.keys(columnTypes) as (keyof Row)[];
  await tx.query({
    name: `redirects-write-${columns.length}-${schema}`,
    text: `INSERT INTO ${schema}.links (${columns.join()})
           SELECT * FROM ${unnest(Object.values(columnTypes))}
           ON CONFLICT (subject) DO UPDATE SET
             ${columns.map((column) => `${column} = excluded.${column}`).join()}`,
    values: valuesByField(
      // PostgreSQL would read an array of arrays as a matrix.
      rows.map((row) => {
        const { tags, options, codes } = row;
        return {
          ...row,
          tags: tags && JSON.stringify(tags),
          codes: codes && JSON.stringify(codes),
          options: options && JSON.stringify(options),
        };
      }),
      ...columns,
    ),
  });
};

type TaggedLink = Pick<RedirectRow, 'account' | 'created_at' | 'status' | 'subject' | 'tags'>;

const tagTypes = {
  account: 'text',
  tag: 'text',
  created_at: 'timestamptz',
  subject: 'text',
} as const;
type TagRow = Pick<TaggedLink, 'account' | 'created_at' | 'subject'> & { readonly tag: string };

const tagColumns = Object.keys(tagTypes) as readonly (keyof TagRow)[];
const tagInput = `SELECT * FROM ${unnest(Object.values(tagTypes))} AS i (${tagColumns.join()})`;

const foldedTags = (link: TaggedLink | undefined): ReadonlySet<string> =>
  new Set(link?.tags?.map(foldText));

const tagsMissingIn = (link: TaggedLink, other: TaggedLink | undefined): readonly TagRow[] => {
  const { account, created_at, subject } = link;
  const otherTags = foldedTags(other);
  return [...foldedTags(link)]
    .filter((tag) => !otherTags.has(tag))
    .map((tag) => ({ account, created_at, subject, tag }));
};

/** Deleted links are not counted. */
const countedTags = (link: TaggedLink | undefined): ReadonlySet<string> =>
  foldedTags(link?.status === 'deleted' ? undefined : link);

const writeTags = async (
  tx: Client,
  schema: ProjectionSchema,
  changes: readonly { readonly before: TaggedLink | undefined; readonly after: TaggedLink }[],
): Promise<void> => {
  if (changes.length === 0) return;
  const removed = changes.flatMap(({ before, after }) =>
    before ? tagsMissingIn(before, after) : [],
  );
  const added = changes.flatMap(({ before, after }) => tagsMissingIn(after, before));
  if (removed.length > 0) {
    await tx.query({
      name: `redirects-tags-removed-${schema}`,
      text: `DELETE FROM ${schema}.link_tags USING (${tagInput}) AS removed
             WHERE ${tagColumns.map((column) => `link_tags.${column} = removed.${column}`).join(' AND ')}`,
      values: valuesByField(removed, ...tagColumns),
    });
  }
  if (added.length > 0) {
    await tx.query({
      name: `redirects-tags-added-${schema}`,
      text: `INSERT INTO ${schema}.link_tags (${tagColumns.join()}) ${tagInput} ON CONFLICT DO NOTHING`,
      values: valuesByField(added, ...tagColumns),
    });
  }
  const counts = changes.flatMap(({ before, after }) => [
    ...[...countedTags(after)].map((tag) => ({ account: after.account, tag, links: 1 })),
    ...[...countedTags(before)].map((tag) => ({ account: after.account, tag, links: -1 })),
  ]);
  // Last, because links of other partitions wait for the locks of these rows until COMMIT.
  await tx.query({
    name: `redirects-tags-counted-${schema}`,
    text: `INSERT INTO ${schema}.tags (account, tag, links)
           SELECT account, tag, sum(links) FROM ${unnest(['text', 'text', 'integer'])} AS i (account, tag, links)
           GROUP BY 1, 2 HAVING sum(links) <> 0 ORDER BY account COLLATE "C", tag COLLATE "C"
           ON CONFLICT (account, tag) DO UPDATE SET links = tags.links + excluded.links`,
    values: valuesByField(counts, 'account', 'tag', 'links'),
  });
  if (counts.some(({ links }) => links < 0)) {
    await tx.query({
      name: `redirects-tags-unused-${schema}`,
      text: `DELETE FROM ${schema}.tags
             WHERE account = ANY ($1::text[]) AND tag = ANY ($2::text[]) AND links = 0`,
      values: valuesByField(counts, 'account', 'tag'),
    });
  }
};

const readSequences: ReadSequences = async (tx, schema, subjects) => {
  const { rows } = await tx.query<{ subject: string; sequence: number }>({
    name: `redirects-sequences-${schema}`,
    text: `SELECT subject, sequence FROM ${schema}.links WHERE subject = ANY ($1::text[])`,
    values: [subjects],
  });
  return new Map(rows.map(({ subject, sequence }) => [subject, sequence]));
};

export const redirects: Projection<LinkEvent> = {
  name: 'redirects',
  topics: [topics.links.name],
  // Readers add newer events from the outbox.
  mayWaitMs: 900,
  toChange: (event) => (isLinkEvent(event) ? event : null),
  async apply(tx, schema, events) {
    const known = await readRows(tx, schema, new Set(events.map(({ subject }) => subject)));
    const folded = new Map<string, { readonly state: LinkState; readonly sequence: number }>();
    for (const event of events) {
      const { subject, sequence } = event;
      const row = known.get(subject);
      const before = folded.get(subject)?.state ?? (row ? linkOfRow(row) : initialState);
      folded.set(subject, { state: evolveLink(before, event), sequence });
    }
    const rows = [...folded.values()]
      .map(({ state, sequence }) => rowOfState(state, sequence))
      .filter((row) => row !== null)
      .map((row): Row => ({ ...row, folded: foldedTextOf(row) }));
    await writeRows(tx, schema, { ...commonTypes, folded: 'text' }, rows.filter(isCommon));
    const others = rows.filter((row) => !isCommon(row));
    await writeRows(tx, schema, types, others);
    const tagChanges = rows
      .map((after) => ({ before: known.get(after.subject), after }))
      .filter(({ before, after }) => before?.tags ?? after.tags);
    await writeTags(tx, schema, tagChanges);
  },
  // Each event of a link updates the sequence of its row. A link without a row has only events without effect.
  sequences: { [topics.links.name]: readSequences },
};
