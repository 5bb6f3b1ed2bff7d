import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { operatorsKeyId } from '../../schemas/folds/key-meter.js';
import type { AccountStatsResponse, StatisticsRequest } from '../../schemas/http/statistics.js';
import { linkOfSubject, subjectRangeOf } from '../../schemas/link-subject.js';
import { domainKeyOf } from '../../schemas/statistics/summed-visits.js';
import { coverageOf } from './breakdowns.js';
import { type ClickedLink, newestClicks, nextByClicks } from '../links/clicks.js';
import { startSnapshot } from '../links/list/link-list.js';
import { areIncomplete, readAccountStatistics } from './statistics.js';
import { bounds, existingLinks, matchingLinks, sumLinks } from './summed-links.js';

const maxLinkDays = bounds.linkDays;

/** The links of an account, or those on one of its domains, on days from the first to before the second. */
interface Clicked {
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

/** Includes deleted links. */
const countLinksOn = async (tx: Client, account: string, domain: string): Promise<number> => {
  const { rows } = await tx.query<{ links: number }>({
    name: 'links-of-domain',
    text: `SELECT count(*) AS links FROM ledger.links
           WHERE subject > $1 AND subject < $2 AND account = $3 AND code_of IS NULL`,
    values: [...subjectRangeOf(domain), account],
  });
  return rows[0]?.links ?? 0;
};

const countLinks = async (tx: Client, account: string): Promise<number> => {
  const { rows } = await tx.query<{ links: number }>({
    name: 'links-of-account',
    text: `SELECT (SELECT coalesce(sum(all_links), 0)::bigint
                   FROM ledger.key_meters JOIN ledger.api_keys ON id = key_id WHERE account = $1)
             + (SELECT count(*) FROM ledger.links
                WHERE account = $1 AND key_id = '${operatorsKeyId}' AND code_of IS NULL) AS links`,
    values: [account],
  });
  return rows[0]?.links ?? 0;
};

const withTargets = async (
  tx: Client,
  outbox: Outbox,
  links: readonly ClickedLink[],
): Promise<NonNullable<AccountStatsResponse['links']>> => {
  const states = await readLinkStates(
    tx,
    outbox,
    links.map(({ subject }) => subject),
  );
  return links.flatMap(({ subject, clicks }) => {
    const state = states.get(subject)?.state;
    // Other writers of the log can write visits of links that do not exist.
    if (!state || state.status === 'none') return [];
    const { domain, code } = linkOfSubject(subject);
    const identity = { shortCode: code, ...(domain !== null && { domain }) };
    return [{ ...identity, url: state.link.url, clicks }];
  });
};

/** Whether an account has a domain, or visits of links on one. */
const hasDomains = async (tx: Client, account: string): Promise<boolean> => {
  const { rows } = await tx.query({
    name: 'statistics-of-domains',
    text: `SELECT FROM ledger.domains WHERE account = $1
           UNION ALL (SELECT FROM projection_stats.accounts WHERE account > $2 AND account < $3 LIMIT 1)`,
    values: [account, ...subjectRangeOf(account)],
  });
  return rows.length > 0;
};

/** Sums up the clicks of the links with clicks on the days by tag. */
const sumTags = async (
  tx: Client,
  outbox: Outbox,
  clicked: Clicked,
  request: StatisticsRequest,
): ReturnType<typeof sumLinks> => {
  if (await areTooMany(tx, clicked)) return 'tooManyClickedLinks';
  const { rows } = await tx.query<{ subject: string }>(
    `SELECT DISTINCT subject FROM (${parts(clicked)}) parts LIMIT ${bounds.clicked + 1}`,
    [...valuesOf(clicked)],
  );
  if (rows.length > bounds.clicked) return 'tooManyClickedLinks';
  const subjects = rows.map(({ subject }) => subject);
  const links = existingLinks(tx, outbox, subjects);
  return sumLinks(tx, { ...request, include: new Set(['tags']) }, links);
};

/** Whether the statistics of links are summed up one by one, which takes seconds for many links. */
export const sumsLinks = ({ filter, include }: StatisticsRequest): boolean =>
  filter !== null || include.has('tags');

/** The statistics of an account's links, from one snapshot. */
export const findAccountStats = (
  pool: Pool,
  outbox: Outbox,
  account: string,
  request: StatisticsRequest,
): Promise<
  | AccountStatsResponse
  | 'tooManyLinks'
  | 'tooManyClickedLinks'
  | 'statsOfDefaultDomain'
  | 'incomplete'
> =>
  transaction(pool, async (tx) => {
    const { filter, include, limit } = request;
    if (sumsLinks(request)) await startSnapshot(tx);
    else await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    if (await areIncomplete(tx)) return 'incomplete';
    if (filter) {
      const summed = await sumLinks(tx, request, matchingLinks(tx, outbox, account, request));
      if (typeof summed === 'string') return summed;
      const { stats, topLinks } = summed;
      return include.has('links')
        ? { ...stats, links: await withTargets(tx, outbox, topLinks) }
        : stats;
    }
    // The lists of an account and its domains have the first values of a day, so they cannot be subtracted.
    const isOfDefault = request.domain === '';
    if (isOfDefault && (await hasDomains(tx, account))) return 'statsOfDefaultDomain';
    const domain = isOfDefault ? null : request.domain;
    const linkCount = await (domain === null
      ? countLinks(tx, account)
      : countLinksOn(tx, account, domain));
    const key = domain === null ? account : domainKeyOf(account, domain);
    const { clicks, ofPeriod } = await readAccountStatistics(tx, key, request);
    const { days } = coverageOf(request.period);
    const clicked = { account, domain, days };
    const summed = include.has('tags') ? await sumTags(tx, outbox, clicked, request) : null;
    if (typeof summed === 'string') return summed;
    const tags = summed && { tags: summed.stats.tags };
    const stats = { linkCount, clickCount: clicks, ...ofPeriod, ...tags };
    if (!include.has('links')) return stats;
    const links = await readTopLinks(tx, clicked, limit);
    return links ? { ...stats, links: await withTargets(tx, outbox, links) } : 'tooManyLinks';
  });
