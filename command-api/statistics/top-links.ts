import type { Client } from '../../ops/platform/postgres/pool.js';
import { nextByClicks, type ClickedLink } from '../links/list/links-by-clicks.js';

/** A link with a click, a day. */
const maxLinkDays = 200_000;

type Days = readonly [from: number, to: number];

/** What links have on the days from $2 to before $3: the clicks of the newest quarter of an hour are in no day yet. */
const ofPeriod = 'account = $1 AND day >= $2 AND day < $3';
const newestClicks = `split_part(series, ',', 2)`;
const parts = (condition = 'true', limit = ''): string => `
  (SELECT code, day, clicks FROM projection_stats.days
   WHERE ${ofPeriod} AND clicks > 0 AND ${condition} ${limit})
  UNION ALL
  (SELECT code, day, ${newestClicks}::integer FROM projection_stats.codes
   WHERE ${ofPeriod} AND ${newestClicks} > '0' AND ${condition} ${limit})`;

const areTooMany = async (tx: Client, account: string, days: Days): Promise<boolean> => {
  const values = [account, ...days];
  const limit = `LIMIT ${maxLinkDays + 1}`;
  // The indexes tell it, though with days of bots alone, and twice the days that are in both tables.
  const { rows: most } = await tx.query<{ days: number }>({
    name: 'most-link-days',
    text: `SELECT count(*) AS days FROM (
             (SELECT FROM projection_stats.days WHERE ${ofPeriod} ${limit}) UNION ALL
             (SELECT FROM projection_stats.codes WHERE ${ofPeriod} ${limit})) of_links`,
    values,
  });
  if ((most[0]?.days ?? 0) <= maxLinkDays) return false;
  const { rows } = await tx.query<{ days: number }>({
    name: 'link-days',
    text: `SELECT count(*) AS days
           FROM (SELECT DISTINCT code, day FROM (${parts('true', limit)}) parts) of_links`,
    values,
  });
  return (rows[0]?.days ?? 0) > maxLinkDays;
};

/** The most clicked links of the period, of all or of `among`. */
const topLinks = async (
  tx: Client,
  account: string,
  days: Days,
  limit: number,
  among?: readonly string[],
): Promise<readonly ClickedLink[]> => {
  const { rows } = await tx.query<ClickedLink>(
    `SELECT code, sum(clicks)::bigint AS clicks FROM (${parts(among && 'code = ANY ($5)')}) parts
     GROUP BY code ORDER BY clicks DESC, code LIMIT $4`,
    [account, ...days, limit, ...(among ? [among] : [])],
  );
  return rows;
};

/** So many of the most clicked links of all time are looked at first. */
const likelyLinks = 500;

/** The links that are the most clicked ones of the period where these cannot be others. */
const amongLikely = async (
  tx: Client,
  account: string,
  days: Days,
  limit: number,
): Promise<readonly ClickedLink[] | null> => {
  const likely = await nextByClicks(tx, account, null, likelyLinks);
  const clicksOfOthers = likely.length < likelyLinks ? 0 : (likely.at(-1)?.clicks ?? 0);
  const leastOfAllTime = likely[limit - 1];
  // None of them has more clicks in the period than of all time.
  if (leastOfAllTime && leastOfAllTime.clicks <= clicksOfOthers) return null;
  const codes = likely.map(({ code }) => code);
  const top = await topLinks(tx, account, days, limit, codes);
  const last = top[limit - 1];
  return clicksOfOthers === 0 || (last && last.clicks > clicksOfOthers) ? top : null;
};

/** The most clicked links on the days from `from` to before `to`; `null` where there are too many link-days. */
export const readTopLinks = async (
  tx: Client,
  account: string,
  days: Days,
  limit: number,
): Promise<readonly ClickedLink[] | null> => {
  if (await areTooMany(tx, account, days)) return null;
  // Enough for the links of 200,000 days: PostgreSQL would write them to disk. And planned by what is asked, for a plan
  // that does for any links compares those of all days with each of the likely ones.
  await tx.query(`SET LOCAL work_mem = '32MB'; SET LOCAL plan_cache_mode = force_custom_plan`);
  return (
    (await amongLikely(tx, account, days, limit)) ?? (await topLinks(tx, account, days, limit))
  );
};
