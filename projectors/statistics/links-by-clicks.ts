import type { Client } from '../../ops/platform/postgres/pool.js';
import type { ProjectionSchema } from '../runtime/projection.js';
import type { LinkStatistics } from './link-statistics.js';

/** Updates the index of links by account and clicks, which omits links without clicks. */
export const writeLinksByClicks = async (
  tx: Client,
  schema: ProjectionSchema,
  links: Iterable<LinkStatistics>,
): Promise<void> => {
  const added: LinkStatistics[] = [];
  const moved: LinkStatistics[] = [];
  for (const link of links) {
    const { before, clicks, account } = link;
    if (before.clicks === 0) {
      if (clicks > 0) added.push(link);
    } else if (before.clicks !== clicks || before.account !== account) moved.push(link);
  }
  await Promise.all([insert(tx, schema, added), update(tx, schema, moved)]);
};

const insert = async (
  tx: Client,
  schema: ProjectionSchema,
  links: readonly LinkStatistics[],
): Promise<void> => {
  if (links.length === 0) return;
  await tx.query({
    name: `stats-by-clicks-${schema}`,
    text: `INSERT INTO ${schema}.links_by_clicks (account, clicks, subject)
           SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])`,
    values: keysOf(links),
  });
};

const update = async (
  tx: Client,
  schema: ProjectionSchema,
  links: readonly LinkStatistics[],
): Promise<void> => {
  if (links.length === 0) return;
  const { rowCount } = await tx.query({
    name: `stats-by-clicks-update-${schema}`,
    text: `UPDATE ${schema}.links_by_clicks AS t SET account = m.account, clicks = m.clicks
           FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
             AS m (account, clicks, subject, account_before, clicks_before)
           WHERE t.account = m.account_before AND t.clicks = m.clicks_before AND t.subject = m.subject`,
    values: [
      ...keysOf(links),
      links.map(({ before }) => before.account),
      links.map(({ before }) => before.clicks),
    ],
  });
  if (rowCount !== links.length)
    throw new Error(
      `${schema}.links_by_clicks has ${rowCount ?? 0} of ${links.length} rows of ${schema}.links: rebuild it`,
    );
};

const keysOf = (links: readonly LinkStatistics[]) => [
  links.map(({ account }) => account),
  links.map(({ clicks }) => clicks),
  links.map(({ owner }) => owner),
];
