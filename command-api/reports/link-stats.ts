import type { Outbox } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { topics } from '../../schemas/events/topics.js';
import type { StatsResponse } from '../../schemas/http/reports.js';

interface Row {
  readonly url: string;
  readonly account: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly max_clicks: number | null;
  readonly clicks: number | null;
  readonly last_accessed: Date | null;
}

/**
 * A link's numbers, and whose they are, from the statistics projection. A link that the projection
 * lacks is read from the outbox, so that a client always finds a link after its 201.
 */
export const findLinkStats = async (
  pool: Pool,
  outbox: Outbox,
  code: string,
): Promise<{ readonly account: string; readonly stats: StatsResponse } | null> => {
  const { rows } = await pool.query<Row>({
    name: 'link-stats',
    text: `SELECT l.url, l.account, l.created_at, l.expires_at, l.max_clicks, c.clicks,
                  c.last_accessed
           FROM projection_stats.links l LEFT JOIN projection_stats.clicks c USING (code)
           WHERE l.code = $1`,
    values: [code],
  });
  const [row] = rows;
  if (row) {
    return {
      account: row.account,
      stats: {
        shortCode: code,
        url: row.url,
        clickCount: row.clicks ?? 0,
        createdAt: row.created_at.toISOString(),
        lastAccessed: row.last_accessed?.toISOString() ?? null,
        expiresAt: row.expires_at?.toISOString() ?? null,
        maxClicks: row.max_clicks,
      },
    };
  }
  const events = await outbox.after(pool, topics.links.name, [{ subject: code, sequence: 0 }]);
  const created = events.find((event) => event.type === 'linklog.LinkCreated.v1');
  if (!created) return null;
  const { url, expiresAt, maxClicks } = created.data;
  const createdAt = created.time;
  const stats = { shortCode: code, url, createdAt, expiresAt, maxClicks };
  return {
    account: created.account ?? 'default',
    stats: { ...stats, clickCount: 0, lastAccessed: null },
  };
};
