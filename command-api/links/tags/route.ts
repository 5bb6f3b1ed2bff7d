import { foldText } from '../../../schemas/folded-text.js';
import { maxTagLinks, type TagPage } from '../../../schemas/http/tags.js';
import { json, pageOf } from '../../http/reply.js';
import type { V2Handler } from '../../http/row-handlers.js';
import { areIncomplete } from '../../statistics/statistics.js';
import { incompleteStats } from '../../statistics/route.js';
import type { ManagedLinksDeps } from '../change/managed-links.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';

/** The newest links of a tag among which its spelling is searched; the others may all be deleted. */
const maxSpellings = 100;

interface TagsRequest {
  readonly account: string;
  /** The folded beginning of the tags. */
  readonly prefix: string;
  /** The page starts after this folded tag. */
  readonly after: string;
  readonly limit: number;
}

interface Row {
  /** Folded. */
  readonly tag: string;
  readonly links: number;
  /** `null`: too many links. */
  readonly clicks: number | null;
  /** The tags of the newest link. */
  readonly spelling: readonly string[] | null;
}

/** No tag contains this noncharacter. */
const last = '\u{10ffff}';

/** Reads the tags of an account's links, in the order of their folded texts. */
export const listTags = async (
  pool: Pool,
  { account, prefix, after, limit }: TagsRequest,
): Promise<TagPage> => {
  const { rows } = await pool.query<Row>({
    name: 'tags-list',
    text: `
      SELECT counted.*, newest.tags AS spelling, clicked.clicks
      FROM (SELECT tag, links FROM projection_redirects.tags
            WHERE account = $1 AND tag >= $2 AND tag > $3 AND tag < $4 ORDER BY tag LIMIT $5) counted
      LEFT JOIN LATERAL (
        SELECT l.tags FROM (
          SELECT subject, created_at FROM projection_redirects.link_tags t
          WHERE t.account = $1 AND t.tag = counted.tag
          ORDER BY created_at DESC, subject DESC LIMIT ${maxSpellings}) t
        JOIN projection_redirects.links l ON l.subject = t.subject
        WHERE l.status <> 'deleted' ORDER BY t.created_at DESC, t.subject DESC LIMIT 1) newest ON true
      LEFT JOIN LATERAL (
        SELECT CASE WHEN greatest(counted.links, count(*)) <= ${maxTagLinks}
          THEN coalesce(sum(s.clicks) FILTER (WHERE l.status <> 'deleted'), 0)::bigint END AS clicks
        FROM (
          SELECT subject FROM projection_redirects.link_tags t
          WHERE counted.links <= ${maxTagLinks} AND t.account = $1 AND t.tag = counted.tag LIMIT ${maxTagLinks + 1}) t
        JOIN projection_redirects.links l ON l.subject = t.subject
        LEFT JOIN projection_stats.links s ON s.subject = t.subject) clicked ON true
      ORDER BY tag`,
    values: [account, prefix, after, prefix + last, limit + 1],
  });
  const { page, next } = pageOf(rows, limit, ({ tag }) => tag);
  return {
    tags: page.map(({ tag, links, clicks, spelling }) => ({
      tag: spelling?.find((text) => foldText(text) === tag) ?? tag,
      links,
      clicks,
    })),
    next,
  };
};

/** `GET /v2/tags`. */
export const createTagsHandler =
  ({ pool }: Pick<ManagedLinksDeps, 'pool'>): V2Handler<'listTags'> =>
  async ({ query: { limit, after = '', search = '' }, state }) => {
    if (await areIncomplete(pool)) return incompleteStats;
    const { account } = state.call.key;
    return json(
      200,
      await listTags(pool, { account, prefix: search, after: foldText(after), limit }),
    );
  };
