import type { Client } from '../../ops/platform/postgres/pool.js';
import type { ListPlace } from '../domain/link-query.js';

/** A link that was clicked. */
export interface ClickedLink {
  readonly code: string;
  readonly clicks: number;
}

type Place = Pick<ListPlace, 'clicks' | 'code'>;

interface RankedLink extends ClickedLink {
  readonly rank: number;
}

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

/** Up to so many clicks, a rank has links with one number of clicks only. */
const exactRanks = 32;

/** The rank of a number of clicks: see 0048_exact_ranks.sql. */
export const rankOf = (clicks: number): number =>
  clicks > exactRanks ? 22 + Math.floor(2 * Math.sqrt(clicks)) : clicks;

/** Those of one rank, behind a place. */
const inRank = async (
  tx: Client,
  account: string,
  rank: number,
  { clicks, code }: Place,
  limit: number,
): Promise<readonly ClickedLink[]> => {
  if (rank <= exactRanks) {
    const { rows } = await tx.query<ClickedLink>({
      name: 'links-of-exact-rank',
      text: `SELECT code, clicks FROM projection_stats.codes
             WHERE account = $1 AND rank = $2 AND code > $3 ORDER BY code LIMIT $4`,
      values: [account, rank, code, limit],
    });
    return rows;
  }
  const { rows } = await tx.query<ClickedLink>({
    name: 'links-of-rank',
    text: `SELECT code, clicks FROM projection_stats.codes
           WHERE account = $1 AND rank = $2 AND (clicks < $3 OR clicks = $3 AND code > $4)
           ORDER BY clicks DESC, code LIMIT $5`,
    values: [account, rank, clicks, code, limit],
  });
  return rows;
};

/** More clicks than a link can have. */
const mostClicks = Number.MAX_SAFE_INTEGER;

/**
 * The next of an account's most clicked links behind a place, at most `limit`; none at the end of those that were
 * clicked. Only the links of a rank beyond the exact ones, which have nearly as many clicks, need sorting.
 */
export const nextByClicks = async (
  tx: Client,
  account: string,
  after: Place | null,
  limit: number,
): Promise<readonly ClickedLink[]> => {
  const rank = after === null ? null : rankOf(after.clicks);
  const begun =
    after === null || rank === null ? [] : await inRank(tx, account, rank, after, limit);
  if (begun.length === limit) return begun;
  const { rows } = await tx.query<RankedLink>({
    name: 'links-by-rank',
    text: `SELECT code, clicks, rank FROM projection_stats.codes
           WHERE account = $1 AND rank < $2 ORDER BY rank DESC, code LIMIT $3`,
    values: [account, rank ?? 2 ** 31 - 1, limit],
  });
  // There may be more of the last rank, with more clicks.
  const last = rows.length === limit ? rows.at(-1)?.rank : undefined;
  const cut = last !== undefined && last > exactRanks ? last : undefined;
  const whole = rows
    .filter((row) => row.rank !== cut)
    .sort((a, b) => b.clicks - a.clicks || (a.code < b.code ? -1 : 1));
  const next = [...begun, ...whole];
  if (cut === undefined || next.length > 0) return next;
  return inRank(tx, account, cut, { clicks: mostClicks, code: '' }, limit);
};
