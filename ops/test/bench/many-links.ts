import { createHash } from 'node:crypto';
import { redirects } from '../../../projectors/links/projection.js';
import { created } from '../../../schemas/testing/events.js';
import { transaction, type Pool } from '../../platform/postgres/pool.js';
import { fillLinksByClicks } from '../support/links-by-clicks.js';

/** The owner of the links. */
export const account = 'bench';
const batch = 500_000;
const byProjection = 1_000;
const spacingMs = 3_000;

/** The short subject of link number `index`. */
export const codeOf = (index: number): string =>
  createHash('md5').update(String(index)).digest().subarray(0, 6).toString('base64url');

const timeOf = (first: number, index: number): Date => new Date(first + index * spacingMs);

/** Link number `index`, oldest first. Every tenth has the tag `common`, every ten-thousandth also `rare`. */
const linkCreated = (index: number, first: number) => {
  const subject = codeOf(index);
  const host = index % 50_000 === 7 ? 'rare.example' : `shop${index % 7}.example.com`;
  return created(
    subject,
    {
      url: `https://${host}/articles/${index.toString(16)}-${subject}?utm_source=letter`,
      tags: [...(index % 10 === 0 ? ['common'] : []), ...(index % 10_000 === 10 ? ['rare'] : [])],
      // An old campaign.
      ...(index % 1_000 === 3 && index < 500_000 && { title: 'Spring campaign' }),
    },
    { account, time: timeOf(first, index), sequence: 1 },
  );
};

/** Inserts the rows of links $2 to $3 - 1; $1 is the creation time of link 0. */
const insertInto = (table: string): string =>
  `INSERT INTO ${table} (subject, status, url, account, created_at, sequence, title, tags, folded)
   SELECT subject, status, url, account, created_at, 1, title, tags,
     lower(concat_ws(E'\\n', subject, url, title, tags ->> 0, tags ->> 1) COLLATE "C")
   FROM (SELECT subject, 'active' AS status, format('https://%s/articles/%s-%s?utm_source=letter',
       CASE WHEN i % 50000 = 7 THEN 'rare.example' ELSE format('shop%s.example.com', i % 7) END,
       to_hex(i), subject) AS url,
     '${account}' AS account, $1::timestamptz + i * interval '${spacingMs} milliseconds' AS created_at,
     CASE WHEN i % 1000 = 3 AND i < 500000 THEN 'Spring campaign' END AS title,
     CASE WHEN i % 10000 = 10 THEN '["common", "rare"]'::jsonb
       WHEN i % 10 = 0 THEN '["common"]'::jsonb END AS tags
   FROM generate_series($2::integer, $3::integer - 1) i, LATERAL (
     SELECT translate(encode(substring(decode(md5(i::text), 'hex') FOR 6), 'base64'), '+/', '-_') AS subject
   ) coded) created`;

/**
 * Fills an empty database with many links of one account, and their clicks. The projection inserts the first links,
 * to check that the SQL statement, which inserts the others, creates equal rows.
 */
export const fillWithLinks = async (pool: Pool, links: number): Promise<void> => {
  const first = Date.now() - 60_000 - links * spacingMs;
  const events = Array.from({ length: byProjection }, (_, index) => linkCreated(index, first));
  await transaction(pool, (tx) => redirects.apply(tx, 'projection_redirects', events, 0));
  const table = 'projection_redirects.links';
  await transaction(pool, async (tx) => {
    await tx.query(`CREATE TEMPORARY TABLE expected (LIKE ${table}) ON COMMIT DROP`);
    await tx.query(insertInto('expected'), [timeOf(first, 0), 0, byProjection]);
    const { rows } = await tx.query(
      `(TABLE ${table} EXCEPT TABLE expected) UNION ALL (TABLE expected EXCEPT TABLE ${table})`,
    );
    if (rows.length > 0) throw new Error(`${rows.length} rows differ from the projection's`);
  });
  for (let from = byProjection; from < links; from += batch) {
    const to = Math.min(from + batch, links);
    await pool.query(insertInto(table), [timeOf(first, 0), from, to]);
    process.stderr.write(`\r${to} of ${links} links`);
  }
  process.stderr.write('\n');
  await pool.query(
    `INSERT INTO projection_redirects.link_tags
     SELECT account, jsonb_array_elements_text(tags), created_at, subject FROM ${table}
     WHERE tags IS NOT NULL ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING`,
  );
  await pool.query(
    `INSERT INTO projection_redirects.tags (account, tag, links)
     SELECT account, tag, count(*) FROM projection_redirects.link_tags GROUP BY 1, 2
     ON CONFLICT (account, tag) DO UPDATE SET links = excluded.links`,
  );
  await pool.query(
    `INSERT INTO ledger.links (subject, key_id, account, sequence, last_event_at, created_at)
     SELECT subject, 'bench-key', account, 1, created_at, created_at FROM ${table}`,
  );
  // A fifth of the links have clicks, few of them many.
  await pool.query(
    `INSERT INTO projection_stats.links
       (subject, account, clicks, bots, last_accessed, day, uniques, series, document, visitors, visitors_before)
     SELECT subject, account, (1 / (1e-6 + random()))::integer, 0, now(), 20000, 1, '[0,1,0]',
       '[[],[],[],[],[],[],[]]', '', ''
     FROM ${table} WHERE hashtext(subject) % 5 = 0`,
  );
  await fillLinksByClicks(pool);
  await pool.query(
    `INSERT INTO ledger.api_keys (id, name, plan, account, status, created_at, sequence, last_event_at, scopes, ancestors)
     VALUES ('bench-key', 'bench', 'PRO', $1, 'active', now(), 1, now(), '{}', '{}')`,
    [account],
  );
  await pool.query(`INSERT INTO ledger.key_meters (key_id, all_links) VALUES ('bench-key', $1)`, [
    links,
  ]);
  await pool.query('VACUUM ANALYZE');
};
