import { foldText } from '../../../schemas/folded-text.js';
import { listTagsQuery, maxTagLinks, type TagPage } from '../../../schemas/http/tags.js';
import type { V2State } from '../../admission/admitted-call.js';
import { json } from '../../http/reply.js';
import { parseQuery, type Handler } from '../../http/requests.js';
import { areIncomplete } from '../../statistics/statistics.js';
import { incompleteStats } from '../../statistics/route.js';
import type { ManagedLinksDeps } from '../change/managed-links.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';

/** Tags that are examined for one page. Those of deleted links only are not on it. */
const maxExamined = 200;

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
  readonly clicks: number;
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
    // The recursion reads one index entry for each tag, not each link.
    text: `
      WITH RECURSIVE names AS (
        (SELECT tag FROM projection_redirects.link_tags
         WHERE account = $1 AND tag >= $2 AND tag > $3 AND tag < $4 ORDER BY tag LIMIT 1)
        UNION ALL
        SELECT following.tag FROM names CROSS JOIN LATERAL (
          SELECT tag FROM projection_redirects.link_tags
          WHERE account = $1 AND tag > names.tag AND tag < $4 ORDER BY tag LIMIT 1) following
      ), examined AS (SELECT tag FROM names LIMIT ${maxExamined})
      SELECT e.tag, count(l.subject) AS links, coalesce(sum(l.clicks), 0)::bigint AS clicks,
        (array_agg(l.tags ORDER BY l.created_at DESC))[1] AS spelling
      FROM examined e LEFT JOIN LATERAL (
        SELECT r.subject, r.tags, r.created_at, coalesce(s.clicks, 0) AS clicks
        FROM projection_redirects.link_tags t
        JOIN projection_redirects.links r ON r.subject = t.subject
        LEFT JOIN projection_stats.links s ON s.subject = t.subject
        WHERE t.account = $1 AND t.tag = e.tag AND r.status <> 'deleted'
        ORDER BY t.created_at DESC, t.subject DESC LIMIT ${maxTagLinks}) l ON true
      GROUP BY e.tag ORDER BY e.tag`,
    values: [account, prefix, after, prefix + last],
  });
  const used = rows.filter(({ links }) => links > 0);
  const page = used.slice(0, limit);
  const isExamined = page.length === used.length;
  const end = isExamined ? rows.at(-1) : page.at(-1);
  return {
    tags: page.map(({ tag, links, clicks, spelling }) => ({
      tag: spelling?.find((text) => foldText(text) === tag) ?? tag,
      links,
      clicks: links === maxTagLinks ? null : clicks,
    })),
    next: end && (!isExamined || rows.length === maxExamined) ? end.tag : null,
  };
};

/** `GET /v2/tags`. */
export const createTagsHandler =
  ({ pool }: Pick<ManagedLinksDeps, 'pool'>): Handler<V2State> =>
  async (ctx, { call }) => {
    const query = parseQuery(listTagsQuery, ctx);
    if (query.type === 'refused') return query.reply;
    if (await areIncomplete(pool)) return incompleteStats;
    const { limit, after = '', search = '' } = query.value;
    const { account } = call.key;
    return json(
      200,
      await listTags(pool, { account, prefix: search, after: foldText(after), limit }),
    );
  };
