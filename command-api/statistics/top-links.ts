import type { Client } from '../../ops/platform/postgres/pool.js';
import { subjectRangeOf } from '../../schemas/link-subject.js';
import { nextByClicks, type ClickedLink } from '../links/list/links-by-clicks.js';

/** The maximum of links with clicks, summed over the days. */
const maxLinkDays = 200_000;

/** The links of an account, or those on one of its domains, on days from the first to before the second. */
export interface Clicked {
  readonly account: string;
  /** `null`: all links of the account. */
  readonly domain: string | null;
  readonly days: readonly [from: number, to: number];
}

const valuesOf = ({ account, domain, days }: Clicked): readonly unknown[] => [
  account,
  ...days,
  ...(domain === null ? [] : subjectRangeOf(domain)),
];

/** Rows of $1 on the days from $2 to before $3, with subjects between $4 and $5 if there is a domain. */
const ofPeriod = ({ domain }: Clicked): string =>
  `account = $1 AND day >= $2 AND day < $3 ${domain === null ? '' : 'AND subject > $4 AND subject < $5'}`;

/** The newest quarter of a link is not yet added to its day. */
const newestClicks = `split_part(series, ',', 2)`;
const parts = (clicked: Clicked, condition = 'true', limit = ''): string => `
  (SELECT subject, day, clicks FROM projection_stats.days
   WHERE ${ofPeriod(clicked)} AND clicks > 0 AND ${condition} ${limit})
  UNION ALL
  (SELECT subject, day, ${newestClicks}::integer FROM projection_stats.links
   WHERE ${ofPeriod(clicked)} AND ${newestClicks} > '0' AND ${condition} ${limit})`;

const areTooMany = async (tx: Client, clicked: Clicked): Promise<boolean> => {
  const values = [...valuesOf(clicked)];
  const limit = `LIMIT ${maxLinkDays + 1}`;
  // An upper bound by index-only scans: it includes days with only bots, and counts days in both tables twice.
  const { rows: most } = await tx.query<{ days: number }>(
    `SELECT count(*) AS days FROM (
       (SELECT FROM projection_stats.days WHERE ${ofPeriod(clicked)} ${limit}) UNION ALL
       (SELECT FROM projection_stats.links WHERE ${ofPeriod(clicked)} ${limit})) of_links`,
    values,
  );
  if ((most[0]?.days ?? 0) <= maxLinkDays) return false;
  const { rows } = await tx.query<{ days: number }>(
    `SELECT count(*) AS days
     FROM (SELECT DISTINCT subject, day FROM (${parts(clicked, 'true', limit)}) parts) of_links`,
    values,
  );
  return (rows[0]?.days ?? 0) > maxLinkDays;
};

/** The most clicked links of the period, of all links or of `among`. */
const topLinks = async (
  tx: Client,
  clicked: Clicked,
  limit: number,
  among?: readonly string[],
): Promise<readonly ClickedLink[]> => {
  const values = [...valuesOf(clicked), limit, ...(among ? [among] : [])];
  const limitAt = valuesOf(clicked).length + 1;
  const { rows } = await tx.query<ClickedLink>(
    `SELECT subject, sum(clicks)::bigint AS clicks
     FROM (${parts(clicked, among && `subject = ANY ($${limitAt + 1})`)}) parts
     GROUP BY subject ORDER BY clicks DESC, subject LIMIT $${limitAt}`,
    values,
  );
  return rows;
};

/** The number of the most clicked links of all time that are examined first. */
const likelyLinks = 500;

/** The most clicked links of the period if they must be among the likely ones; otherwise `null`. */
const amongLikely = async (
  tx: Client,
  clicked: Clicked,
  limit: number,
): Promise<readonly ClickedLink[] | null> => {
  const likely = await nextByClicks(tx, clicked.account, null, likelyLinks);
  const clicksOfOthers = likely.length < likelyLinks ? 0 : (likely.at(-1)?.clicks ?? 0);
  const leastOfAllTime = likely[limit - 1];
  // No link has more clicks in the period than in total.
  if (leastOfAllTime && leastOfAllTime.clicks <= clicksOfOthers) return null;
  const subjects = likely.map(({ subject }) => subject);
  const top = await topLinks(tx, clicked, limit, subjects);
  const last = top[limit - 1];
  return clicksOfOthers === 0 || (last && last.clicks > clicksOfOthers) ? top : null;
};

/** The most clicked links on the days; `null` if there are more than `maxLinkDays`. */
export const readTopLinks = async (
  tx: Client,
  clicked: Clicked,
  limit: number,
): Promise<readonly ClickedLink[] | null> => {
  if (await areTooMany(tx, clicked)) return null;
  // 32 MB hold 200,000 link-days without temporary files. A generic plan would compare all links with each likely one.
  await tx.query(`SET LOCAL work_mem = '32MB'; SET LOCAL plan_cache_mode = force_custom_plan`);
  return (await amongLikely(tx, clicked, limit)) ?? (await topLinks(tx, clicked, limit));
};
