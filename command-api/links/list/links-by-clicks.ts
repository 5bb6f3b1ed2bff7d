import type { Client } from '../../../ops/platform/postgres/pool.js';
import type { ListCursor } from './link-query.js';

export interface ClickedLink {
  readonly subject: string;
  readonly clicks: number;
}

/** The clicks of links; links without clicks are absent. */
export const clicksOf = async (
  tx: Client,
  links: readonly { readonly subject: string }[],
): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await tx.query<ClickedLink>({
    name: 'links-clicks',
    text: `SELECT subject, clicks FROM projection_stats.links WHERE subject = ANY ($1::text[])`,
    values: [links.map(({ subject }) => subject)],
  });
  return new Map(rows.map(({ subject, clicks }) => [subject, clicks]));
};

/**
 * Up to `limit` links with clicks after a cursor, in the order of clicks.
 */
export const nextByClicks = async (
  tx: Client,
  account: string,
  after: Pick<ListCursor, 'clicks' | 'subject'> | null,
  limit: number,
): Promise<readonly ClickedLink[]> => {
  const { clicks, subject } = after ?? { clicks: Number.MAX_SAFE_INTEGER, subject: '' };
  const { rows } = await tx.query<ClickedLink>({
    name: 'links-by-clicks',
    text: `(SELECT subject, clicks FROM projection_stats.links_by_clicks
            WHERE account = $1 AND clicks = $2 AND subject > $3 ORDER BY subject LIMIT $4)
           UNION ALL
           (SELECT subject, clicks FROM projection_stats.links_by_clicks
            WHERE account = $1 AND clicks < $2 ORDER BY clicks DESC, subject LIMIT $4)
           ORDER BY clicks DESC, subject LIMIT $4`,
    values: [account, clicks, subject, limit],
  });
  return rows;
};
