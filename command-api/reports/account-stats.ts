import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import type { AccountStatsResponse, AskedStatistics } from '../../schemas/http/statistics.js';
import { coverageOf } from '../domain/statistics.js';
import { areIncomplete, readAccountStatistics } from './statistics.js';

/** A link with a click, a day. */
const maxLinkDays = 200_000;

const countLinks = async (tx: Client, account: string): Promise<number> => {
  const { rows } = await tx.query<{ links: number }>({
    name: 'links-of-account',
    text: `SELECT coalesce(sum(all_links), 0)::bigint AS links
           FROM ledger.key_meters JOIN ledger.api_keys ON id = key_id WHERE account = $1`,
    values: [account],
  });
  return rows[0]?.links ?? 0;
};

/** What links have on the days from $2 to before $3: the clicks of the newest quarter of an hour are in no day yet. */
const parts = `
  (SELECT code, day, clicks FROM projection_stats.days
   WHERE account = $1 AND day >= $2 AND day < $3 AND clicks > 0 LIMIT ${maxLinkDays + 1})
  UNION ALL
  (SELECT code, day, split_part(series, ',', 2)::integer FROM projection_stats.codes
   WHERE account = $1 AND day >= $2 AND day < $3 AND split_part(series, ',', 2) > '0'
   LIMIT ${maxLinkDays + 1})`;

/** The most clicked links on the days from `from` to before `to`; `null` where there are too many. */
const readTopLinks = async (
  tx: Client,
  outbox: Outbox,
  account: string,
  [from, to]: readonly [from: number, to: number],
  limit: number,
): Promise<AccountStatsResponse['links'] | null> => {
  // Enough for the parts: PostgreSQL would write them to disk.
  await tx.query(`SET LOCAL work_mem = '32MB'`);
  // The first row counts the parts of all links: to count them apart takes a fifth longer.
  const {
    rows: [all, ...rows],
  } = await tx.query<{ code: string; clicks: number; parts: number }>({
    name: 'top-links',
    text: `SELECT code, sum(clicks)::bigint AS clicks, count(*) AS parts FROM (${parts}) parts
           GROUP BY GROUPING SETS ((), (code)) ORDER BY code IS NULL DESC, 2 DESC, code LIMIT $4 + 1`,
    values: [account, from, to, limit],
  });
  // A link-day has two parts where it is its link's newest: few accounts have so many that they must be counted.
  if ((all?.parts ?? 0) > maxLinkDays) {
    const { rows: counted } = await tx.query<{ days: number }>({
      name: 'link-days',
      text: `SELECT count(*) AS days FROM (SELECT DISTINCT code, day FROM (${parts}) parts) of_links`,
      values: [account, from, to],
    });
    if ((counted[0]?.days ?? 0) > maxLinkDays) return null;
  }
  const codes = rows.map(({ code }) => code);
  const states = await readLinkStates(tx, outbox, codes);
  return rows.flatMap(({ code, clicks }) => {
    const state = states.get(code)?.state;
    // Whoever writes to the log alone can make visits of a link that never was.
    return !state || state.status === 'none'
      ? []
      : [{ shortCode: code, url: state.link.url, clicks }];
  });
};

/** The numbers of an account's links, all of one moment. */
export const findAccountStats = (
  pool: Pool,
  outbox: Outbox,
  account: string,
  asked: AskedStatistics,
): Promise<AccountStatsResponse | 'tooManyLinks' | 'incomplete'> =>
  transaction(pool, async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    if (await areIncomplete(tx)) return 'incomplete';
    const linkCount = await countLinks(tx, account);
    const { clicks, ofPeriod } = await readAccountStatistics(tx, account, asked);
    const stats = { linkCount, clickCount: clicks, ...ofPeriod };
    if (!asked.include.has('links')) return stats;
    const links = await readTopLinks(
      tx,
      outbox,
      account,
      coverageOf(asked.period).days,
      asked.limit,
    );
    return links ? { ...stats, links } : 'tooManyLinks';
  });
