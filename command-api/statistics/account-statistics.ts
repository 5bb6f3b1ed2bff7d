import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { operatorsKeyId } from '../../schemas/folds/key-meter.js';
import type { AccountStatsResponse, StatisticsRequest } from '../../schemas/http/statistics.js';
import { linkOfSubject, subjectRangeOf } from '../../schemas/link-subject.js';
import { domainKeyOf } from '../../schemas/statistics/summed-visits.js';
import { coverageOf } from './breakdowns.js';
import type { ClickedLink } from '../links/list/links-by-clicks.js';
import { areIncomplete, readAccountStatistics } from './statistics.js';
import { readTopLinks } from './top-links.js';

/** Includes deleted links. */
const countLinksOn = async (tx: Client, account: string, domain: string): Promise<number> => {
  const { rows } = await tx.query<{ links: number }>({
    name: 'links-of-domain',
    text: `SELECT count(*) AS links FROM ledger.links
           WHERE subject > $1 AND subject < $2 AND account = $3`,
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
                WHERE account = $1 AND key_id = '${operatorsKeyId}') AS links`,
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

/** The statistics of an account's links, from one snapshot. */
export const findAccountStats = (
  pool: Pool,
  outbox: Outbox,
  account: string,
  request: StatisticsRequest,
): Promise<AccountStatsResponse | 'tooManyLinks' | 'incomplete'> =>
  transaction(pool, async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    if (await areIncomplete(tx)) return 'incomplete';
    const { domain } = request;
    const linkCount = await (domain === null
      ? countLinks(tx, account)
      : countLinksOn(tx, account, domain));
    const key = domain === null ? account : domainKeyOf(account, domain);
    const { clicks, ofPeriod } = await readAccountStatistics(tx, key, request);
    const stats = { linkCount, clickCount: clicks, ...ofPeriod };
    if (!request.include.has('links')) return stats;
    const { days } = coverageOf(request.period);
    const links = await readTopLinks(tx, { account, domain, days }, request.limit);
    return links ? { ...stats, links: await withTargets(tx, outbox, links) } : 'tooManyLinks';
  });
