import type { Client } from '../../ops/platform/postgres/pool.js';
import { nextByClicks, type ClickedLink } from '../links/list/links-by-clicks.js';

/** The maximum of links with clicks, summed over the days. */
const maxLinkDays = 200_000;

type Days = readonly [from: number, to: number];

/** Rows on the days from $2 to before $3. The newest quarter of a link is not yet added to its day. */
const ofPeriod = 'account = $1 AND day >= $2 AND day < $3';
const newestClicks = `split_part(series, ',', 2)`;
const parts = (condition = 'true', limit = ''): string => `
  (SELECT subject, day, clicks FROM projection_stats.days
   WHERE ${ofPeriod} AND clicks > 0 AND ${condition} ${limit})
  UNION ALL
  (SELECT subject, day, ${newestClicks}::integer FROM projection_stats.links
   WHERE ${ofPeriod} AND ${newestClicks} > '0' AND ${condition} ${limit})`;

const areTooMany = async (tx: Client, account: string, days: Days): Promise<boolean> => {
  const values = [account, ...days];
  const limit = `LIMIT ${maxLinkDays + 1}`;
  // An upper bound by index-only scans: it includes days with only bots, and counts days in both tables twice.
  const { rows: most } = await tx.query<{ days: number }>({
    name: 'most-link-days',
    text: `SELECT count(*) AS days FROM (
             (SELECT FROM projection_stats.days WHERE ${ofPeriod} ${limit}) UNION ALL
             (SELECT FROM projection_stats.links WHERE ${ofPeriod} ${limit})) of_links`,
    values,
  });
  if ((most[0]?.days ?? 0) <= maxLinkDays) return false;
  const { rows } = await tx.query<{ days: number }>({
    name: 'link-days',
    text: `SELECT count(*) AS days
           FROM (SELECT DISTINCT subject, day FROM (${parts('true', limit)}) parts) of_links`,
    values,
  });
  return (rows[0]?.days ?? 0) > maxLinkDays;
};

/** The most clicked links of the period, of all links or of `among`. */
const topLinks = async (
  tx: Client,
  account: string,
  days: Days,
  limit: number,
  among?: readonly string[],
): Promise<readonly ClickedLink[]> => {
  const { rows } = await tx.query<ClickedLink>(
    `SELECT subject, sum(clicks)::bigint AS clicks FROM (${parts(among && 'subject = ANY ($5)')}) parts
     GROUP BY subject ORDER BY clicks DESC, subject LIMIT $4`,
    [account, ...days, limit, ...(among ? [among] : [])],
  );
  return rows;
};

/** The number of the most clicked links of all time that are examined first. */
const likelyLinks = 500;

/** The most clicked links of the period if they must be among the likely ones; otherwise `null`. */
const amongLikely = async (
  tx: Client,
  account: string,
  days: Days,
  limit: number,
): Promise<readonly ClickedLink[] | null> => {
  const likely = await nextByClicks(tx, account, null, likelyLinks);
  const clicksOfOthers = likely.length < likelyLinks ? 0 : (likely.at(-1)?.clicks ?? 0);
  const leastOfAllTime = likely[limit - 1];
  // No link has more clicks in the period than in total.
  if (leastOfAllTime && leastOfAllTime.clicks <= clicksOfOthers) return null;
  const subjects = likely.map(({ subject }) => subject);
  const top = await topLinks(tx, account, days, limit, subjects);
  const last = top[limit - 1];
  return clicksOfOthers === 0 || (last && last.clicks > clicksOfOthers) ? top : null;
};

/** The most clicked links on the days; `null` if there are more than `maxLinkDays`. */
export const readTopLinks = async (
  tx: Client,
  account: string,
  days: Days,
  limit: number,
): Promise<readonly ClickedLink[] | null> => {
  if (await areTooMany(tx, account, days)) return null;
  // 32 MB hold 200,000 link-days without temporary files. A generic plan would compare all links with each likely one.
  await tx.query(`SET LOCAL work_mem = '32MB'; SET LOCAL plan_cache_mode = force_custom_plan`);
  return (
    (await amongLikely(tx, account, days, limit)) ?? (await topLinks(tx, account, days, limit))
  );
};
