import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { StatsResponse } from '../../schemas/http/reports.js';

/**
 * A link's numbers, and whose they are: the link as it is, and its clicks from the statistics projection. A
 * client always finds a link after its 201. `null` where there never was such a link.
 */
export const findLinkStats = async (
  pool: Pool,
  outbox: Outbox,
  code: string,
): Promise<{ readonly account: string; readonly stats: StatsResponse } | null> => {
  const { rows } = await pool.query<{ clicks: number; last_accessed: Date | null }>({
    name: 'link-clicks',
    text: 'SELECT clicks, last_accessed FROM projection_stats.codes WHERE code = $1',
    values: [code],
  });
  const { state } = (await readLinkStates(pool, outbox, [code])).get(code) ?? {};
  if (!state || state.status === 'none') return null;
  const { url, account, createdAt, expiresAt, maxClicks } = state.link;
  return {
    account,
    stats: {
      shortCode: code,
      url,
      clickCount: rows[0]?.clicks ?? 0,
      createdAt,
      lastAccessed: rows[0]?.last_accessed?.toISOString() ?? null,
      expiresAt,
      maxClicks,
    },
  };
};
