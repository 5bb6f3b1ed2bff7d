import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { linkStatusAt } from '../../schemas/folds/link.js';
import { abusePeriods, type AbuseReport } from '../../schemas/http/abuse.js';
import { linkOfSubject, shortUrlOf } from '../../schemas/link-subject.js';
import { quarterMs, quartersOfDay } from '../../schemas/statistics/calendar.js';
import { forEachQuarter, readSeries } from '../../schemas/statistics/series.js';
import { areIncomplete } from '../statistics/statistics.js';

/** Bounds of the work for one report. */
const bounded = {
  /** Accounts whose links are examined. */
  accounts: 100,
  /** Rows of links, and rows of their days, that are examined. The accounts get equal shares. */
  rows: 100_000,
  /** Links whose quarters of an hour are summed up. */
  candidates: 500,
  /** Links whose destinations are compared. */
  destinations: 10_000,
  /** Keys among which the newest accounts are searched. */
  keys: 10_000,
};
export type Bounds = typeof bounded;

interface ReportRequest {
  readonly period: keyof typeof abusePeriods;
  readonly limit: number;
  readonly now: Date;
}

/** Quarters of an hour since 1970; `to` is exclusive. */
interface Quarters {
  readonly before: number;
  readonly from: number;
  readonly to: number;
}

const dayOf = (quarter: number): number => Math.floor(quarter / quartersOfDay);

/** The accounts with the most clicks on the days from $1 on. Rows of their domains have a slash. */
const visitedAccounts = `
  SELECT account FROM projection_stats.accounts a
  WHERE day >= $1 AND partition >= 0 AND position('/' IN account) = 0
  GROUP BY account
  ORDER BY sum(split_part(series, ',', 2)::bigint + coalesce(
    (SELECT sum(clicks) FROM projection_stats.account_days d
     WHERE d.account = a.account AND d.partition = a.partition AND d.day >= $1), 0)) DESC, account
  LIMIT $2`;

/**
 * Links of the accounts $3 that may have the most clicks: those with the most clicks on the days from $1 on, if their
 * newest quarter hour is not before $2, and those with the most clicks of all time.
 */
const candidatesOf = `
  (SELECT subject FROM unnest($3::text[]) AS v (account) CROSS JOIN LATERAL (
     (SELECT subject, day * ${quartersOfDay} + split_part(ltrim(series, '['), ',', 1)::integer AS quarter,
        split_part(series, ',', 2)::bigint AS clicks
      FROM projection_stats.links l WHERE l.account = v.account AND day >= $1 ORDER BY day DESC LIMIT $4)
     UNION ALL
     (SELECT subject, NULL, clicks FROM projection_stats.days d
      WHERE d.account = v.account AND day >= $1 ORDER BY day DESC LIMIT $4)) parts
   GROUP BY subject HAVING max(quarter) >= $2 ORDER BY sum(clicks) DESC, subject LIMIT $5)
  UNION
  (SELECT subject FROM unnest($3::text[]) AS v (account) CROSS JOIN LATERAL (
     SELECT subject FROM projection_stats.links_by_clicks b WHERE b.account = v.account
     ORDER BY clicks DESC, subject LIMIT $6) top)`;

const seriesOf = `
  SELECT subject, day, series FROM projection_stats.links WHERE subject = ANY ($1::text[]) AND day >= $2
  UNION ALL
  SELECT subject, day, series FROM projection_stats.days WHERE subject = ANY ($1::text[]) AND day >= $2`;

const findLinks = async (
  tx: Client,
  { before, from, to }: Quarters,
  limit: number,
  { accounts: maxAccounts, rows: maxRows, candidates: maxCandidates }: Bounds,
) => {
  // For 100,000 rows without temporary files.
  await tx.query(`SET LOCAL work_mem = '32MB'; SET LOCAL plan_cache_mode = force_custom_plan`);
  const { rows: visited } = await tx.query<{ account: string }>(visitedAccounts, [
    dayOf(from),
    maxAccounts,
  ]);
  const accounts = visited.map(({ account }) => account);
  const shareOf = (bound: number): number => Math.ceil(bound / Math.max(1, accounts.length));
  const { rows: candidates } = await tx.query<{ subject: string }>(candidatesOf, [
    ...[dayOf(from), from, accounts, shareOf(maxRows), maxCandidates, shareOf(maxCandidates)],
  ]);
  const { rows } = await tx.query<{ subject: string; day: number; series: string }>(seriesOf, [
    candidates.map(({ subject }) => subject),
    dayOf(before),
  ]);
  const links = new Map<string, { clicks: number; before: number }>();
  for (const { subject, day, series } of rows) {
    const link = links.get(subject) ?? { clicks: 0, before: 0 };
    links.set(subject, link);
    forEachQuarter(readSeries(series), (quarter, clicks) => {
      const at = day * quartersOfDay + quarter;
      if (at >= to || at < before) return;
      link[at >= from ? 'clicks' : 'before'] += clicks;
    });
  }
  return [...links]
    .map(([subject, clicks]) => ({ subject, ...clicks }))
    .filter(({ clicks }) => clicks > 0)
    .sort((a, b) => b.clicks - a.clicks || (a.subject < b.subject ? -1 : 1))
    .slice(0, limit);
};

/** The ids of keys ascend with time. */
const newestAccounts = `
  SELECT account, created_at AS "createdAt",
    (SELECT coalesce(sum(all_links), 0)::bigint FROM ledger.key_meters JOIN ledger.api_keys o ON o.id = key_id
     WHERE o.account = k.account) AS links,
    (SELECT coalesce(sum(clicks), 0)::bigint FROM projection_stats.accounts a
     WHERE a.account = k.account) AS clicks
  FROM (SELECT id, account, created_at, ancestors FROM ledger.api_keys ORDER BY id DESC LIMIT $2) k
  WHERE ancestors = '{}' AND NOT EXISTS (
    SELECT FROM ledger.api_keys o WHERE o.account = k.account AND o.ancestors = '{}' AND o.id < k.id)
  ORDER BY id DESC LIMIT $1`;

const sharedDestinations = `
  SELECT host, count(DISTINCT account) AS accounts, count(*) AS links
  FROM (SELECT account, rtrim(lower(substring(url FROM '^[^:/]+://(\\[[^\\]]+\\]|[^/?#:]+)')), '.') AS host
        FROM projection_redirects.links
        WHERE status = 'active' AND coalesce(live_since, created_at) >= $2
        ORDER BY coalesce(live_since, created_at) DESC LIMIT $3) live
  WHERE host <> ''
  GROUP BY host HAVING count(DISTINCT account) > 1 ORDER BY accounts DESC, links DESC, host LIMIT $1`;

/** The report, from one snapshot; `incomplete` while the statistics are being built. */
export const findAbuse = (
  pool: Pool,
  outbox: Outbox,
  { period, limit, now }: ReportRequest,
  shortUrlHost: string,
  bounds: Bounds = bounded,
): Promise<AbuseReport | 'incomplete'> =>
  transaction(pool, async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    if (await areIncomplete(tx)) return 'incomplete';
    const to = Math.floor(now.getTime() / quarterMs) + 1;
    const from = to - abusePeriods[period];
    const quarters = { before: from - abusePeriods[period], from, to };
    const clicked = await findLinks(tx, quarters, limit, bounds);
    const states = await readLinkStates(
      tx,
      outbox,
      clicked.map(({ subject }) => subject),
    );
    const accounts = await tx.query<{
      [Field in keyof AbuseReport['accounts'][number]]: Field extends 'createdAt'
        ? Date
        : AbuseReport['accounts'][number][Field];
    }>(newestAccounts, [limit, bounds.keys]);
    const destinations = await tx.query<AbuseReport['destinations'][number]>(sharedDestinations, [
      ...[limit, new Date(from * quarterMs), bounds.destinations],
    ]);
    return {
      period,
      links: clicked.flatMap(({ subject, clicks, before }) => {
        const state = states.get(subject)?.state;
        // Other writers of the log can write visits of links that do not exist.
        if (!state || state.status === 'none') return [];
        const { domain, code } = linkOfSubject(subject);
        const { account, url } = state.link;
        return {
          ...{ account, ...(domain !== null && { domain }), shortCode: code },
          ...{ shortUrl: shortUrlOf(subject, shortUrlHost), url },
          ...{ status: linkStatusAt(state, now), clicks, before },
        };
      }),
      accounts: accounts.rows.map(({ createdAt, ...account }) => ({
        ...account,
        createdAt: createdAt.toISOString(),
      })),
      destinations: destinations.rows,
    };
  });
