import type { Queryable } from '../../platform/postgres/pool.js';

/** Fills the ranking by clicks from the rows of `projection_stats.links` that a test inserted. */
export const fillLinksByClicks = async (postgres: Queryable): Promise<void> => {
  await postgres.query(
    `INSERT INTO projection_stats.links_by_clicks
     SELECT account, clicks, subject FROM projection_stats.links WHERE clicks > 0 ON CONFLICT DO NOTHING`,
  );
};
