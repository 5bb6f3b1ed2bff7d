import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { AskedStatistics, StatsResponse } from '../../schemas/http/statistics.js';
import { noClicks, readClicks } from '../links/clicks.js';
import { areIncomplete, readCodeStatistics } from './statistics.js';

const clicksAlone = async (pool: Pool, code: string) => ({
  ...((await readClicks(pool, [code])).get(code) ?? noClicks),
  ofPeriod: {},
});

/**
 * A link's numbers, and whose they are: the link as it is, and its clicks from the statistics projection, of a
 * period too where something of it is asked for. A client always finds a link after its 201. `null` where there
 * never was such a link, `incomplete` while nothing can be said of a period.
 */
export const findLinkStats = async (
  pool: Pool,
  outbox: Outbox,
  code: string,
  asked: AskedStatistics | null,
): Promise<{ readonly account: string; readonly stats: StatsResponse } | 'incomplete' | null> => {
  const isOfPeriod = asked !== null && asked.include.size > 0;
  if (isOfPeriod && (await areIncomplete(pool))) return 'incomplete';
  const { clicks, lastAccessed, ofPeriod } = await (isOfPeriod
    ? readCodeStatistics(pool, code, asked)
    : clicksAlone(pool, code));
  const { state } = (await readLinkStates(pool, outbox, [code])).get(code) ?? {};
  if (!state || state.status === 'none') return null;
  const { url, account, createdAt, expiresAt, maxClicks } = state.link;
  return {
    account,
    stats: {
      shortCode: code,
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
