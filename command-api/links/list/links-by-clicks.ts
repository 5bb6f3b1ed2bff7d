import type { Client } from '../../../ops/platform/postgres/pool.js';
import type { ListCursor } from './link-query.js';

export interface ClickedLink {
  readonly code: string;
  readonly clicks: number;
}

/** The clicks of links; links without clicks are absent. */
export const clicksOf = async (
  tx: Client,
  links: readonly { readonly code: string }[],
): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await tx.query<ClickedLink>({
    name: 'links-clicks',
    text: `SELECT code, clicks FROM projection_stats.codes WHERE code = ANY ($1::text[])`,
    values: [links.map(({ code }) => code)],
  });
  return new Map(rows.map(({ code, clicks }) => [code, clicks]));
};

/**
 * Up to `limit` links with clicks after a cursor, in the order of clicks.
 */
export const nextByClicks = async (
  tx: Client,
  account: string,
  after: Pick<ListCursor, 'clicks' | 'code'> | null,
  limit: number,
): Promise<readonly ClickedLink[]> => {
  const { clicks, code } = after ?? { clicks: Number.MAX_SAFE_INTEGER, code: '' };
  const { rows } = await tx.query<ClickedLink>({
    name: 'links-by-clicks',
    text: `(SELECT code, clicks FROM projection_stats.links_by_clicks
            WHERE account = $1 AND clicks = $2 AND code > $3 ORDER BY code LIMIT $4)
           UNION ALL
           (SELECT code, clicks FROM projection_stats.links_by_clicks
            WHERE account = $1 AND clicks < $2 ORDER BY clicks DESC, code LIMIT $4)
           ORDER BY clicks DESC, code LIMIT $4`,
    values: [account, clicks, code, limit],
  });
  return rows;
};
