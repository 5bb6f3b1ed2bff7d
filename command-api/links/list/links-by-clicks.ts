import type { Client } from '../../../ops/platform/postgres/pool.js';
import type { ListPlace } from './link-query.js';

/** A link that was clicked. */
export interface ClickedLink {
  readonly code: string;
  readonly clicks: number;
}

type Place = Pick<ListPlace, 'clicks' | 'code'>;

/** The clicks of those links that have any. */
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

/** More clicks than a link can have. */
const mostClicks = Number.MAX_SAFE_INTEGER;

/**
 * The next of an account's most clicked links behind a place, at most `limit`; none at the end of those that were
 * clicked.
 */
export const nextByClicks = async (
  tx: Client,
  account: string,
  after: Place | null,
  limit: number,
): Promise<readonly ClickedLink[]> => {
  const { clicks, code } = after ?? { clicks: mostClicks, code: '' };
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
