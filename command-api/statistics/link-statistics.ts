import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { StatisticsRequest, StatsResponse } from '../../schemas/http/statistics.js';
import { linkOfSubject } from '../../schemas/link-subject.js';
import { noClicks, readClicks } from '../links/clicks.js';
import { areIncomplete, readLinkStatistics } from './statistics.js';

const withoutPeriod = async (pool: Pool, subject: string) => ({
  ...((await readClicks(pool, [subject])).get(subject) ?? noClicks),
  ofPeriod: {},
});

/**
 * The statistics of a link, with its account. The link is found as soon as its creation was acknowledged. `null` if the
 * link does not exist; `incomplete` if a period is requested while the tables are being built.
 */
export const findLinkStats = async (
  pool: Pool,
  outbox: Outbox,
  subject: string,
  request: StatisticsRequest | null,
): Promise<{ readonly account: string; readonly stats: StatsResponse } | 'incomplete' | null> => {
  const isOfPeriod = request !== null && request.include.size > 0;
  if (isOfPeriod && (await areIncomplete(pool))) return 'incomplete';
  const { clicks, lastAccessed, ofPeriod } = await (isOfPeriod
    ? readLinkStatistics(pool, subject, request)
    : withoutPeriod(pool, subject));
  const { state } = (await readLinkStates(pool, outbox, [subject])).get(subject) ?? {};
  if (!state || state.status === 'none') return null;
  const { url, account, createdAt, expiresAt, maxClicks } = state.link;
  return {
    account,
    stats: {
      shortCode: linkOfSubject(subject).code,
      url,
      clickCount: clicks,
      createdAt,
      lastAccessed: lastAccessed?.toISOString() ?? null,
      expiresAt,
      maxClicks,
      ...ofPeriod,
    },
  };
};
